#include "cost/engine_step.h"

#include <algorithm>
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

}  // namespace dovetail::cost
