#include "cost/generation.h"

#include <algorithm>
#include <cmath>

#include "cost/occupancy.h"
#include "cost/passes.h"

namespace dovetail::cost {
namespace {

constexpr double bytes_an_element = 2;

/// What an instance decodes together: what its engine and its memory allow.
double concurrency_of(const ModelFacts& facts, const llm::Layout& layout, const GenerationWork& work, const EngineLimits& limits,
                      double sequences) {
  const double mean = work.responses->mean();
  const double met = work.responses->second_moment() / (2 * mean);  // tokens that a sequence met at a random moment has
  const double prompt = work.prompts->mean() / work.samples_per_prompt;
  const double fit = limits.key_value_bytes / (key_value_bytes(facts, layout) * (prompt + met));
  return std::max(1.0, std::min({sequences, limits.sequences, std::floor(fit)}));
}

double prefill_seconds(const ModelFacts& facts, const llm::Layout& layout, const GenerationWork& work, const Machine& machine,
                       const Efficiency& efficiency) {
  const double prompts = work.sequences / work.samples_per_prompt / layout.data;
  llm::Layout forward = layout;
  forward.recomputation = llm::Recomputation::none;
  const llm::Tokens tokens{prompts * work.prompts->mean() / layout.pipeline, prompts * work.prompts->second_moment() / layout.pipeline};
  std::vector<PassSeconds> stages;
  for (int stage = 0; stage < layout.pipeline; ++stage)
    stages.push_back(forward_pass(facts, forward, layers_of_stage(facts, forward, stage), tokens, machine, efficiency));
  return pipeline_seconds(stages, layout.pipeline, 1, 0, 0).seconds;
}

/// Sequences up to which a step is flat: at most a quarter longer than that of one.
double flat_batch_of(const ModelFacts& facts, const llm::Layout& layout, double context, const Machine& machine,
                     const Efficiency& efficiency) {
  const double limit = 1.25 * decode_step_seconds(facts, layout, 1, context, machine, efficiency);
  double batch = 1;
  while (batch < 65'536 && decode_step_seconds(facts, layout, 2 * batch, context, machine, efficiency) <= limit) batch *= 2;
  for (double step = batch / 2; step >= 1; step /= 2)
    if (decode_step_seconds(facts, layout, batch + step, context, machine, efficiency) <= limit) batch += step;
  return batch;
}

}  // namespace

double key_value_bytes(const ModelFacts& facts, const llm::Layout& layout) {
  return static_cast<double>(llm::key_value_elements(facts.model, layout.tensor)) * bytes_an_element / layout.pipeline;
}

double decode_step_seconds(const ModelFacts& facts, const llm::Layout& layout, double sequences, double context, const Machine& machine,
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
  const double stage = std::max(working, layers * efficiency.decode_launch) + efficiency.decode_step +
                       next_stage_seconds(layout, machine, layout.pipeline > 1 ? hidden : 0);
  // Stages work on parts of the batch at once; a batch of fewer sequences than stages leaves some idle.
  return layout.pipeline * stage + efficiency.decode_sequence * sequences;
}

GenerationSeconds generation_seconds(const ModelFacts& facts, const llm::Layout& layout, const GenerationWork& work,
                                     const EngineLimits& limits, const Machine& machine, const Efficiency& efficiency) {
  const double share = work.sequences / layout.data;
  const double prompt = work.prompts->mean();
  GenerationSeconds seconds;
  seconds.prefill = prefill_seconds(facts, layout, work, machine, efficiency);
  seconds.concurrency = concurrency_of(facts, layout, work, limits, share);
  const double met = work.responses->second_moment() / (2 * work.responses->mean());
  seconds.flat_batch = flat_batch_of(facts, layout, prompt + met, machine, efficiency);
  const Occupancy occupancy = occupancy_of(*work.responses, share / seconds.concurrency);
  if (occupancy.full_steps > 0)
    seconds.full = occupancy.full_steps *
                   decode_step_seconds(facts, layout, seconds.concurrency, prompt + occupancy.full_context, machine, efficiency);
  for (const Occupancy::Slice& slice : occupancy.tail) {
    const double any = 1 - std::pow(1 - slice.left, seconds.concurrency * layout.data);
    const double batch = std::max(1.0, seconds.concurrency * slice.left);
    seconds.tail += any * occupancy.slice_steps * decode_step_seconds(facts, layout, batch, prompt + slice.context, machine, efficiency);
  }
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
