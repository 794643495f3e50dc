#include "cost/generation.h"

#include <algorithm>
#include <cmath>

#include "cost/engine_step.h"
#include "cost/occupancy.h"
#include "cost/passes.h"
#include "workflow/normal.h"

namespace dovetail::cost {

namespace {

constexpr double bytes_an_element = 2;

/// Returns the tokens that a sequence has generated at a random moment of decoding.
double met_of(const GenerationWork& work) { return work.responses->second_moment() / (2 * work.responses->mean()); }

/// Returns a sequence's share of the tokens of its prompt.
double own_prompt(const GenerationWork& work) { return work.prompts->mean() / work.samples_per_prompt; }

/// Returns the steps over which sequences that started together end: the width of a uniform distribution with the
/// variance of the lengths.
double end_spread(const workflow::LengthDistribution& lengths) {
  return std::max(1.0, std::sqrt(12 * std::max(0.0, lengths.second_moment() - lengths.mean() * lengths.mean())));
}

/// Returns how an instance decodes its share of the work.
Occupancy decoded_of(const GenerationWork& work, double share, double places, double cache_tokens) {
  const double most = work.prompts->mean() + static_cast<double>(work.responses->longest());
  if (std::min(share, places) * most > cache_tokens) {
    // At least one sequence runs, even if the cache is too small for it.
    const double least = work.prompts->mean() + work.responses->mean();
    Occupancy decoded = cache_occupancy_of(
        *work.responses, {share, places, work.prompts->mean(), work.samples_per_prompt, std::max(cache_tokens, least)});
    if (decoded.is_short_of_cache) return decoded;
  }
  return occupancy_of(*work.responses, share, places);
}

/// Returns the tokens that an instance prefills in addition to decoding.
EnginePrefill prefill_of(const GenerationWork& work, const Occupancy& decoded, double share) {
  EnginePrefill prefill;
  prefill.prompt = work.prompts->mean();
  prefill.attended = work.prompts->second_moment() / prefill.prompt;
  prefill.at_start = decoded.at_start * own_prompt(work);
  prefill.later = (share - decoded.at_start) * own_prompt(work);
  const double spread = end_spread(*work.responses);
  prefill.together = std::max(prefill.prompt, prefill.at_start / spread);
  prefill.in_waves = spread <= 1 || decoded.at_start <= 1;
  prefill.again = decoded.recomputed;
  prefill.again_each = decoded.recomputing_steps > 0 ? decoded.recomputed / decoded.recomputing_steps : 0;
  prefill.full = {decoded.at_start, prefill.prompt};
  double sequences = 0;
  double tokens = 0;
  for (std::size_t index = 0; index < decoded.tail; ++index) {
    const Occupancy::Stretch& stretch = decoded.stretches[index];
    prefill.full_steps += stretch.steps;
    sequences += stretch.steps * stretch.sequences;
    tokens += stretch.steps * stretch.sequences * stretch.context;
  }
  if (decoded.tail > 0) prefill.full = {sequences / prefill.full_steps, prefill.prompt + tokens / sequences};
  return prefill;
}

/// Returns the expected maximum of `ranks` exponential times of mean 1.
double slowest_of(int ranks) {
  double sum = 0;
  for (int rank = 1; rank <= ranks; ++rank) sum += 1.0 / rank;
  return sum;
}

/// Returns the launch time of a layer's kernels in a decode step.
double layer_launch_seconds(const llm::Layout& layout, const Efficiency& efficiency) {
  if (layout.tensor == 1) return efficiency.decode_launch;
  return efficiency.decode_launch + 2 * efficiency.decode_reduce * slowest_of(layout.tensor);
}

/// Returns the seconds of a decode step by the roofline.
double modelled_decode_seconds(const ModelFacts& facts, const llm::Layout& layout, double sequences, double context,
                               const Machine& machine, const Efficiency& efficiency) {
  const double parts = std::min<double>(layout.pipeline, std::max(1.0, sequences));
  const double part = sequences / parts;
  const double ranks = static_cast<double>(layout.tensor) * layout.pipeline;
  const double layers = static_cast<double>(facts.model.layers) / layout.pipeline;
  const double traffic = touched_bytes(facts, part) / ranks + part * context * key_value_bytes(facts, layout);
  const double reading = traffic / (efficiency.memory_bandwidth * machine.gpu.memory_bandwidth);
  const double products =
      decode_flops(facts, part, context) / ranks / (efficiency.decode_products * peak_flops(machine.gpu));
  const double hidden = static_cast<double>(facts.model.hidden) * part * bytes_an_element;
  const double reducing =
      layout.tensor > 1 ? 2 * layers * cluster::all_reduce_seconds(machine.links, tensor_group(layout, machine), hidden)
                        : 0;
  const double working = std::max(reading, products) + reducing + layers * efficiency.decode_layer;
  const double stage = std::max(working, layers * layer_launch_seconds(layout, efficiency)) + efficiency.decode_step +
                       next_stage_seconds(layout, machine, layout.pipeline > 1 ? hidden : 0);
  // Stages process parts of the batch concurrently. A batch with fewer sequences than stages leaves some idle.
  return layout.pipeline * stage + efficiency.decode_sequence * sequences;
}

/// Returns the marginal seconds of a sequence in a batch: differences for 10% more sequences or context.
SequenceSeconds sequence_seconds(const ModelFacts& facts, const llm::Layout& layout, double sequences, double context,
                                 const Machine& machine, const Efficiency& efficiency) {
  constexpr double more = 0.1;
  const auto step = [&](double batch, double length) {
    return decode_step_seconds(facts, layout, batch, length, machine, efficiency);
  };
  const double seconds = step(sequences, context);
  const double with_others = step((1 + more) * sequences, context / (1 + more)) - seconds;
  const double with_longer = step(sequences, (1 + more) * context) - seconds;
  return {std::max(0.0, with_others) / (more * sequences), std::max(0.0, with_longer) / (more * context * sequences)};
}

/// Returns the extra seconds of the slowest instance, at the mean batch of an instance that takes `steps` steps.
double imbalance_of(const ModelFacts& facts, const llm::Layout& layout, const GenerationWork& work, double steps,
                    const Machine& machine, const Efficiency& efficiency) {
  if (layout.data == 1) return 0;
  const double sequences = work.sequences / layout.data;
  const double batch = std::max(1.0, sequences * work.responses->mean() / steps);
  const double prompt = work.prompts->mean();
  const SequenceSeconds added = sequence_seconds(facts, layout, batch, prompt + met_of(work), machine, efficiency);
  return imbalance_seconds(added, prompt, *work.responses, sequences, layout.data);
}

}  // namespace

double key_value_bytes(const ModelFacts& facts, const llm::Layout& layout) {
  return static_cast<double>(llm::key_value_elements(facts.model, layout.tensor)) * facts.key_value_element_bytes /
         layout.pipeline;
}

double decode_step_seconds(const ModelFacts& facts, const llm::Layout& layout, double sequences, double context,
                           const Machine& machine, const Efficiency& efficiency) {
  const auto modelled = [&](double batch, double length) {
    return modelled_decode_seconds(facts, layout, batch, length, machine, efficiency);
  };
  const ProfileTable* measured = find_decode_profile(facts.profiles, machine.gpu.name, layout);
  return measured == nullptr ? modelled(sequences, context) : profiled_seconds(*measured, sequences, context, modelled);
}

double flat_batch(const ModelFacts& facts, const llm::Layout& layout, double context, const Machine& machine,
                  const Efficiency& efficiency) {
  const double limit = 1.25 * decode_step_seconds(facts, layout, 1, context, machine, efficiency);
  double batch = 1;
  while (batch < 65'536 && decode_step_seconds(facts, layout, 2 * batch, context, machine, efficiency) <= limit)
    batch *= 2;
  for (double step = batch / 2; step >= 1; step /= 2)
    if (decode_step_seconds(facts, layout, batch + step, context, machine, efficiency) <= limit) batch += step;
  return batch;
}

double prefill_seconds(const ModelFacts& facts, const llm::Layout& layout, const llm::Tokens& tokens,
                       const Machine& machine, const Efficiency& efficiency) {
  llm::Layout forward = layout;
  forward.recomputation = llm::Recomputation::none;
  const llm::Tokens part{tokens.count / layout.pipeline, tokens.squares / layout.pipeline};
  std::vector<PassSeconds> stages;
  for (int stage = 0; stage < layout.pipeline; ++stage)
    stages.push_back(forward_pass(facts, forward, layers_of_stage(facts, forward, stage), part, machine, efficiency));
  return pipeline_seconds(stages, layout.pipeline, 1, 0, 0).seconds;
}

double slice_seconds(const ModelFacts& facts, const llm::Layout& layout, const TailSlice& slice, double instances,
                     const Machine& machine, const Efficiency& efficiency) {
  const double batch = std::max(1.0, slice.batch * (layout.data / instances));
  return slice.steps * decode_step_seconds(facts, layout, batch, slice.context, machine, efficiency);
}

GenerationSeconds generation_seconds(const ModelFacts& facts, const llm::Layout& layout, const GenerationWork& work,
                                     const EngineLimits& limits, const Machine& machine, const Efficiency& efficiency) {
  const double share = work.sequences / layout.data;
  const double prompt = work.prompts->mean();
  const Occupancy decoded =
      decoded_of(work, share, limits.sequences, limits.key_value_bytes / key_value_bytes(facts, layout));
  const PrefillSeconds computing =
      engine_prefill_seconds(facts, layout, prefill_of(work, decoded, share), limits, machine, efficiency);
  GenerationSeconds seconds;
  seconds.prefill = computing.prompts;
  seconds.recompute = computing.again;
  seconds.recomputed = decoded.recomputed;
  seconds.flat_batch = flat_batch(facts, layout, prompt + met_of(work), machine, efficiency);
  seconds.concurrency = decoded.tail > 0 ? decoded.stretches[decoded.tail - 1].sequences : decoded.at_start;
  double steps = 0;
  for (std::size_t index = 0; index < decoded.stretches.size(); ++index) {
    const Occupancy::Stretch& stretch = decoded.stretches[index];
    TailSlice slice{stretch.steps, stretch.sequences, prompt + stretch.context};
    if (index >= decoded.tail) {
      slice.steps *=
          1 - std::pow(1 - std::min(1.0, stretch.sequences / seconds.concurrency), seconds.concurrency * layout.data);
      seconds.slices.push_back(slice);
    }
    (index < decoded.tail ? seconds.full : seconds.tail) +=
        slice_seconds(facts, layout, slice, layout.data, machine, efficiency);
    steps += slice.steps;
  }
  seconds.imbalance = imbalance_of(facts, layout, work, steps, machine, efficiency);
  return seconds;
}

double weight_sync_seconds(const ModelFacts& facts, int devices, bool apart, const Machine& machine,
                           const Efficiency& efficiency) {
  const double bytes = static_cast<double>(facts.parameters.all) * bytes_an_element;
  const cluster::Link& own = devices > machine.devices_per_node ? machine.links.between : machine.links.inside;
  const double moving =
      apart ? cluster::broadcast_seconds(machine.links, group_of(devices, 1, machine.devices_per_node), bytes)
            : bytes / own.bandwidth;
  return efficiency.refit + facts.tensors * efficiency.refit_tensor + moving / efficiency.refit_links;
}

namespace {

/// Central moments of the lengths.
struct CentralMoments {
  double second = 0;
  double third = 0;
  double fourth = 0;
};

CentralMoments central_moments(const workflow::LengthDistribution& lengths) {
  const double mean = lengths.mean();
  CentralMoments sums;
  for (const workflow::LengthPoint& point : lengths.points()) {
    const double beyond = static_cast<double>(point.length) - mean;
    const double square = static_cast<double>(point.weight) * beyond * beyond;
    sums.second += square;
    sums.third += square * beyond;
    sums.fourth += square * beyond * beyond;
  }
  const auto weight = static_cast<double>(lengths.total_weight());
  return {sums.second / weight, sums.third / weight, sums.fourth / weight};
}

/// Returns the variance of linear l + square l^2. With d = l - mean, this is (linear + 2 square mean) d + square d^2
/// plus a constant.
double variance_of(double linear, double square, const workflow::LengthDistribution& lengths) {
  const CentralMoments moments = central_moments(lengths);
  const double slope = linear + 2 * square * lengths.mean();
  const double variance = slope * slope * moments.second + 2 * slope * square * moments.third +
                          square * square * (moments.fourth - moments.second * moments.second);
  return std::max(0.0, variance);
}

/// Returns the approximate expected maximum of `count` independent standard normal variables; 0 for one.
double max_normal(int count) { return workflow::normal_quantile((count - 0.375) / (count + 0.25)); }

}  // namespace

double imbalance_seconds(const SequenceSeconds& added, double prompt, const workflow::LengthDistribution& responses,
                         double sequences, int instances) {
  if (instances <= 1) return 0;
  const double variance = variance_of(added.step + added.context * prompt, added.context / 2, responses);
  return max_normal(instances) * std::sqrt(sequences * variance);
}

}  // namespace dovetail::cost
