#include "cost/generation.h"

#include <algorithm>
#include <cmath>

#include "cost/engine_prefill.h"
#include "cost/imbalance.h"
#include "cost/occupancy.h"
#include "cost/passes.h"

namespace dovetail::cost {
namespace {

constexpr double bytes_an_element = 2;

/// Tokens that a sequence met at a random moment has generated.
double met_of(const GenerationWork& work) { return work.responses->second_moment() / (2 * work.responses->mean()); }

/// A sequence's part of its prompt's keys and values.
double own_prompt(const GenerationWork& work) { return work.prompts->mean() / work.samples_per_prompt; }

/// Tokens that an instance has room for.
double room_of(const ModelFacts& facts, const llm::Layout& layout, const EngineLimits& limits) {
  return limits.key_value_bytes / key_value_bytes(facts, layout);
}

/// What an instance decodes together: what its engine and its memory allow. All of its sequences, where they start together and never need
/// more room than there is; else so many as fill it on average.
double concurrency_of(double room, const GenerationWork& work, const EngineLimits& limits, double sequences) {
  const double allowed = std::min(sequences, limits.sequences);
  const double fit = std::floor(room / (own_prompt(work) + met_of(work)));
  if (fit >= allowed) return std::max(1.0, allowed);
  if (sequences <= limits.sequences && sequences * most_held(own_prompt(work), work.samples_per_prompt, *work.responses) <= room)
    return sequences;
  return std::max(1.0, fit);
}

/// Tokens that an instance computes again, over the full steps.
double recomputed_of(double room, const GenerationWork& work, const EngineLimits& limits, double sequences,
                     const GenerationSeconds& seconds, double full_steps) {
  if (seconds.concurrency >= std::min(sequences, limits.sequences)) return 0;
  const double admitted = std::min({sequences, limits.sequences, room / (own_prompt(work) + 1)});
  return recomputed_tokens(room / std::max(1.0, admitted), own_prompt(work), *work.responses, seconds.concurrency, full_steps);
}

/// The expected maximum of that many exponential times of mean 1.
double slowest_of(int ranks) {
  double sum = 0;
  for (int rank = 1; rank <= ranks; ++rank) sum += 1.0 / rank;
  return sum;
}

/// What launching a layer's kernels takes in a decode step.
double layer_launch_seconds(const llm::Layout& layout, const Efficiency& efficiency) {
  if (layout.tensor == 1) return efficiency.decode_launch;
  return efficiency.decode_launch + 2 * efficiency.decode_reduce * slowest_of(layout.tensor);
}

/// A step by the roofline.
double modelled_decode_seconds(const ModelFacts& facts, const llm::Layout& layout, double sequences, double context, const Machine& machine,
                               const Efficiency& efficiency) {
  const double parts = std::min<double>(layout.pipeline, std::max(1.0, sequences));
  const double part = sequences / parts;
  const double ranks = static_cast<double>(layout.tensor) * layout.pipeline;
  const double layers = static_cast<double>(facts.model.layers) / layout.pipeline;
  const double traffic = touched_parameters(facts, part) * bytes_an_element / ranks + part * context * key_value_bytes(facts, layout);
  const double reading = traffic / (efficiency.memory_bandwidth * machine.gpu.memory_bandwidth);
  const double products = decode_flops(facts, part, context) / ranks / (efficiency.decode_products * peak_flops(machine.gpu));
  const double hidden = static_cast<double>(facts.model.hidden) * part * bytes_an_element;
  const double reducing =
      layout.tensor > 1 ? 2 * layers * cluster::all_reduce_seconds(machine.links, tensor_group(layout, machine), hidden) : 0;
  const double working = std::max(reading, products) + reducing + layers * efficiency.decode_layer;
  const double stage = std::max(working, layers * layer_launch_seconds(layout, efficiency)) + efficiency.decode_step +
                       next_stage_seconds(layout, machine, layout.pipeline > 1 ? hidden : 0);
  // Stages work on parts of the batch at once; a batch of fewer sequences than stages leaves some idle.
  return layout.pipeline * stage + efficiency.decode_sequence * sequences;
}

/// Beside so many others with so many tokens before each: by a tenth more of either.
SequenceSeconds sequence_seconds(const ModelFacts& facts, const llm::Layout& layout, double sequences, double context,
                                 const Machine& machine, const Efficiency& efficiency) {
  constexpr double more = 0.1;
  const auto step = [&](double batch, double length) { return decode_step_seconds(facts, layout, batch, length, machine, efficiency); };
  const double seconds = step(sequences, context);
  const double with_others = step((1 + more) * sequences, context / (1 + more)) - seconds;
  const double with_longer = step(sequences, (1 + more) * context) - seconds;
  return {std::max(0.0, with_others) / (more * sequences), std::max(0.0, with_longer) / (more * context * sequences)};
}

/// Of an instance's `sequences` in all its steps.
double imbalance_of(const ModelFacts& facts, const llm::Layout& layout, const GenerationWork& work, double steps, const Machine& machine,
                    const Efficiency& efficiency) {
  if (layout.data == 1) return 0;
  const double sequences = work.sequences / layout.data;
  const double batch = std::max(1.0, sequences * work.responses->mean() / steps);
  const double prompt = work.prompts->mean();
  const SequenceSeconds added = sequence_seconds(facts, layout, batch, prompt + met_of(work), machine, efficiency);
  return imbalance_seconds(added, prompt, *work.responses, sequences, layout.data);
}

}  // namespace

double key_value_bytes(const ModelFacts& facts, const llm::Layout& layout) {
  return static_cast<double>(llm::key_value_elements(facts.model, layout.tensor)) * bytes_an_element / layout.pipeline;
}

double decode_step_seconds(const ModelFacts& facts, const llm::Layout& layout, double sequences, double context, const Machine& machine,
                           const Efficiency& efficiency) {
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
  while (batch < 65'536 && decode_step_seconds(facts, layout, 2 * batch, context, machine, efficiency) <= limit) batch *= 2;
  for (double step = batch / 2; step >= 1; step /= 2)
    if (decode_step_seconds(facts, layout, batch + step, context, machine, efficiency) <= limit) batch += step;
  return batch;
}

double prefill_seconds(const ModelFacts& facts, const llm::Layout& layout, const llm::Tokens& tokens, const Machine& machine,
                       const Efficiency& efficiency) {
  llm::Layout forward = layout;
  forward.recomputation = llm::Recomputation::none;
  const llm::Tokens part{tokens.count / layout.pipeline, tokens.squares / layout.pipeline};
  std::vector<PassSeconds> stages;
  for (int stage = 0; stage < layout.pipeline; ++stage)
    stages.push_back(forward_pass(facts, forward, layers_of_stage(facts, forward, stage), part, machine, efficiency));
  return pipeline_seconds(stages, layout.pipeline, 1, 0, 0).seconds;
}

double slice_seconds(const ModelFacts& facts, const llm::Layout& layout, const TailSlice& slice, double instances, const Machine& machine,
                     const Efficiency& efficiency) {
  const double batch = std::max(1.0, slice.batch * (layout.data / instances));
  return slice.steps * decode_step_seconds(facts, layout, batch, slice.context, machine, efficiency);
}

GenerationSeconds generation_seconds(const ModelFacts& facts, const llm::Layout& layout, const GenerationWork& work,
                                     const EngineLimits& limits, const Machine& machine, const Efficiency& efficiency) {
  const double share = work.sequences / layout.data;
  const double prompt = work.prompts->mean();
  const double room = room_of(facts, layout, limits);
  const double met = met_of(work);
  GenerationSeconds seconds;
  seconds.concurrency = concurrency_of(room, work, limits, share);
  seconds.flat_batch = flat_batch(facts, layout, prompt + met, machine, efficiency);
  const Occupancy occupancy = occupancy_of(*work.responses, share / seconds.concurrency);
  seconds.recomputed = recomputed_of(room, work, limits, share, seconds, occupancy.full_steps);
  EnginePrefill prefill;
  prefill.prompt = prompt;
  prefill.attended = work.prompts->second_moment() / prompt;
  prefill.at_start = seconds.concurrency * own_prompt(work);
  prefill.later = (share - seconds.concurrency) * own_prompt(work);
  prefill.again = seconds.recomputed;
  prefill.again_each = own_prompt(work) + met;
  prefill.full = {seconds.concurrency, prompt + occupancy.full_context};
  prefill.full_steps = occupancy.full_steps;
  const PrefillSeconds computing = engine_prefill_seconds(facts, layout, prefill, limits, machine, efficiency);
  seconds.prefill = computing.prompts;
  seconds.recompute = computing.again;
  if (occupancy.full_steps > 0)
    seconds.full = occupancy.full_steps *
                   decode_step_seconds(facts, layout, seconds.concurrency, prompt + occupancy.full_context, machine, efficiency);
  double steps = occupancy.full_steps;
  for (const Occupancy::Slice& slice : occupancy.tail) {
    const double any = 1 - std::pow(1 - slice.left, seconds.concurrency * layout.data);
    seconds.slices.push_back({any * occupancy.slice_steps, seconds.concurrency * slice.left, prompt + slice.context});
    seconds.tail += slice_seconds(facts, layout, seconds.slices.back(), layout.data, machine, efficiency);
    steps += seconds.slices.back().steps;
  }
  seconds.imbalance = imbalance_of(facts, layout, work, steps, machine, efficiency);
  return seconds;
}

double refit_seconds(const ModelFacts& facts, int devices, bool apart, const Machine& machine, const Efficiency& efficiency) {
  const double bytes = static_cast<double>(facts.parameters.all) * bytes_an_element;
  const cluster::Link& own = devices > machine.devices_per_node ? machine.links.between : machine.links.inside;
  const double moving =
      apart ? cluster::broadcast_seconds(machine.links, group_of(devices, 1, machine.devices_per_node), bytes) : bytes / own.bandwidth;
  return efficiency.refit + facts.tensors * efficiency.refit_tensor + moving / efficiency.refit_links;
}

}  // namespace dovetail::cost
