#include "cost/engine_step.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost/generation.h"

namespace dovetail::cost {

Efficiency without_launch(Efficiency efficiency) {
  efficiency.layer_launch = 0;
  efficiency.expert_launch = 0;
  efficiency.slot = 0;
  efficiency.decode_layer = 0;
  efficiency.decode_launch = 0;
  efficiency.decode_reduce = 0;
  efficiency.decode_step = 0;
  efficiency.decode_sequence = 0;
  return efficiency;
}

double mixed_step_seconds(const ModelFacts& facts, const llm::Layout& layout, const Decoding& decoding,
                          const llm::Tokens& prefilled, const Machine& machine, const Efficiency& efficiency) {
  Machine fast_memory = machine;
  fast_memory.gpu.memory_bandwidth = std::numeric_limits<double>::infinity();
  const double alone = decode_step_seconds(facts, layout, decoding.sequences, decoding.context, machine, efficiency);
  const double both =
      decode_step_seconds(facts, layout, decoding.sequences, decoding.context, fast_memory, efficiency) +
      prefill_seconds(facts, layout, prefilled, machine, without_launch(efficiency));
  return std::max(alone, both);
}

namespace {

/// Steps that prefill, and the tokens of each.
struct Chunks {
  double steps = 0;
  double tokens = 0;
};

/// Splits tokens that arrive in parts of `each` over `steps` steps: one part per step or, if there are more parts than
/// steps, evenly over all steps. At most `most` tokens per step.
Chunks chunks_of(double tokens, double each, double steps, double most) {
  if (tokens <= 0) return {};
  const double in_one = std::min(most, std::max(each, tokens / std::max(1.0, steps)));
  return {tokens / in_one, in_one};
}

class Engine {
 public:
  Engine(const ModelFacts& facts, const llm::Layout& layout, const EnginePrefill& prefill, const EngineLimits& limits,
         const Machine& machine, const Efficiency& efficiency)
      : facts_(facts),
        layout_(layout),
        prefill_(prefill),
        limits_(limits),
        machine_(machine),
        efficiency_(efficiency) {}

  PrefillSeconds seconds() const {
    return limits_.chunked_prefill ? PrefillSeconds{at_start() + later(), again()} : apart();
  }

 private:
  double step(double sequences, double tokens, double attended) const {
    return mixed_step_seconds(facts_, layout_, {sequences, prefill_.full.context}, {tokens, tokens * attended},
                              machine_, efficiency_);
  }

  /// Returns the seconds of prefilling the first sequences. They decode as they enter, and that decoding is subtracted.
  double at_start() const {
    constexpr double max_simulated = 16;
    const double decoding_tokens = prefill_.full.sequences / 2;
    const double steps =
        std::max(1.0, std::ceil(prefill_.at_start / std::max(1.0, limits_.batched_tokens - decoding_tokens)));
    const double simulated = std::min(max_simulated, steps);
    double seconds = 0;
    for (double part = 0; part < simulated; ++part) {
      const double entered = steps > 1 ? (part / std::max(1.0, simulated - 1)) * (steps - 1) / steps : 0;
      seconds +=
          steps / simulated * step(entered * prefill_.full.sequences, prefill_.at_start / steps, prefill_.attended);
    }
    return std::max(0.0, seconds - (steps - 1) / 2 * step(prefill_.full.sequences, 0, 0));
  }

  double max_chunk() const { return std::max(1.0, limits_.batched_tokens - prefill_.full.sequences); }

  double later() const {
    if (prefill_.in_waves) return prefill_.later / prefill_.at_start * at_start();
    const Chunks chunks = chunks_of(prefill_.later, prefill_.together, prefill_.full_steps, max_chunk());
    if (chunks.steps == 0) return 0;
    return chunks.steps *
           (step(prefill_.full.sequences, chunks.tokens, prefill_.attended) - step(prefill_.full.sequences, 0, 0));
  }

  /// Returns the seconds of recomputation, in steps that also prefill the average number of prompt tokens.
  double again() const {
    const double prompts = prefill_.full_steps > 0 ? std::min(max_chunk(), prefill_.later / prefill_.full_steps) : 0;
    const Chunks chunks =
        chunks_of(prefill_.again, prefill_.again_each, prefill_.full_steps, std::max(1.0, max_chunk() - prompts));
    if (chunks.steps == 0) return 0;
    const double all = prompts + chunks.tokens;
    const double attended = (prompts * prefill_.attended + chunks.tokens * prefill_.again_each) / all;
    return chunks.steps *
           (step(prefill_.full.sequences, all, attended) - step(prefill_.full.sequences, prompts, prefill_.attended));
  }

  PrefillSeconds apart() const {
    const auto alone = [this](const Chunks& chunks, double attended) {
      return chunks.steps > 0 ? chunks.steps * step(0, chunks.tokens, attended) : 0;
    };
    const double most = limits_.batched_tokens;
    const double at_start = std::ceil(prefill_.at_start / most);
    return {alone({at_start, prefill_.at_start / std::max(1.0, at_start)}, prefill_.attended) +
                alone(chunks_of(prefill_.later, prefill_.together, prefill_.full_steps, most), prefill_.attended),
            alone(chunks_of(prefill_.again, prefill_.again_each, prefill_.full_steps, most), prefill_.again_each)};
  }

  const ModelFacts& facts_;
  const llm::Layout& layout_;
  const EnginePrefill& prefill_;
  const EngineLimits& limits_;
  const Machine& machine_;
  const Efficiency& efficiency_;
};

}  // namespace

PrefillSeconds engine_prefill_seconds(const ModelFacts& facts, const llm::Layout& layout, const EnginePrefill& prefill,
                                      const EngineLimits& limits, const Machine& machine,
                                      const Efficiency& efficiency) {
  return Engine(facts, layout, prefill, limits, machine, efficiency).seconds();
}

}  // namespace dovetail::cost
