#include "predict/closed_form/inter_stage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/assert.h"
#include "cost/machine.h"
#include "simulate/stages.h"
#include "simulate/threshold.h"

namespace dovetail::predict {
namespace {

/// What does not hang on the threshold.
struct GenerationScenario {
  const Scenario& scenario;
  const plan::TaskPlan& planned;
  const cost::ModelFacts& facts;
  cost::Machine machine;
  cost::GenerationSeconds generation;
  double samples = 0;
};

/// m of the page's formula, for so many samples.
int keepers_of(const GenerationScenario& of, double left) {
  const plan::TaskPlan& planned = of.planned;
  double most = std::ceil(left / of.generation.flat_batch);
  most = std::max(most, std::ceil(left / static_cast<double>(planned.engine.max_num_seqs)));
  const double longest =
      static_cast<double>(of.scenario.lengths.longest()) * cost::key_value_bytes(of.facts, planned.layout);
  const double room =
      std::max(longest, key_value_room(of.facts, planned, of.machine.gpu, of.scenario.job.software.engine));
  most = std::max(most, std::ceil(left * longest / room));
  return static_cast<int>(std::clamp(most, 1.0, static_cast<double>(planned.layout.data)));
}

/// Moves the samples of the others to the keepers at the beginning of `slice`.
void migrate(const GenerationScenario& of, const cost::TailSlice& slice, InterStage& fused) {
  const plan::TaskPlan& planned = of.planned;
  fused.moved = slice.batch * (fused.instances - fused.keepers);
  const double received = fused.moved / fused.keepers;
  const bool inside = of.machine.devices_per_node >= planned.mesh.count;
  const cluster::Link& link = inside ? of.machine.links.inside : of.machine.links.between;
  const double bytes = received * slice.context * cost::key_value_bytes(of.facts, planned.layout);
  const double sending = cluster::send_seconds(link, bytes);
  const llm::Tokens tokens{received * slice.context, received * slice.context * slice.context};
  const double prefilling =
      cost::prefill_seconds(of.facts, planned.layout, tokens, of.machine, of.scenario.software.efficiency);
  fused.prefills = prefilling < sending;
  fused.migration = std::min(sending, prefilling);
}

/// Of so many instances: [slice] seconds. Thresholds have few numbers of keepers.
using SliceSeconds = std::map<int, std::vector<double>>;

const std::vector<double>& seconds_on(const GenerationScenario& of, int instances, SliceSeconds& known) {
  const auto [entry, is_new] = known.try_emplace(instances);
  if (is_new)
    for (const cost::TailSlice& slice : of.generation.slices)
      entry->second.push_back(cost::slice_seconds(of.facts, of.planned.layout, slice, instances, of.machine,
                                                  of.scenario.software.efficiency));
  return entry->second;
}

/// How many of them have none of the unfinished samples, on average where there are some.
double idle_keepers(int keepers, double unfinished) {
  const double none = std::exp(-unfinished / keepers);
  const double others_none = std::exp(-unfinished * (keepers - 1) / keepers);
  const double all_none = std::exp(-unfinished);
  return all_none < 1 ? keepers * none * (1 - others_none) / (1 - all_none) : keepers - 1;
}

GenerationTail tail_at(const GenerationScenario& of, double threshold, SliceSeconds& known) {
  const cost::GenerationSeconds& generation = of.generation;
  GenerationTail tail;
  InterStage& fused = tail.generation;
  fused.threshold = threshold;
  fused.instances = of.planned.layout.data;
  fused.apart = generation.sum();
  tail.devices = {of.planned.mesh.count, fused.instances, fused.instances};
  const double left = std::min(threshold * of.samples, generation.concurrency * fused.instances);
  const auto reached =
      std::find_if(generation.slices.begin(), generation.slices.end(),
                   [&](const cost::TailSlice& slice) { return slice.batch * fused.instances <= left; });
  const auto first = static_cast<std::size_t>(reached - generation.slices.begin());
  const std::vector<double>& on_all = seconds_on(of, fused.instances, known);
  const double rest = std::accumulate(on_all.begin() + static_cast<std::ptrdiff_t>(first), on_all.end(), 0.0);
  fused.keepers = rest < simulate::min_tail * generation.sum() ? fused.instances : keepers_of(of, left);
  fused.until = generation.prefill + generation.recompute + generation.full + generation.imbalance;
  for (std::size_t slice = 0; slice < on_all.size(); ++slice)
    if (slice < first || fused.keepers == fused.instances) fused.until += on_all[slice];
  if (fused.keepers == fused.instances) return tail;
  tail.devices.keepers = fused.keepers;
  migrate(of, *reached, fused);
  const std::vector<double>& on_keepers = seconds_on(of, fused.keepers, known);
  for (std::size_t slice = first; slice < on_keepers.size(); ++slice) {
    fused.tail += on_keepers[slice];
    const cost::TailSlice& of_all = generation.slices[slice];
    const double unfinished = of_all.batch * fused.instances;
    // A slice's steps are weighed with the chance that the tail is not through before it.
    const double goes_on = of_all.steps / reached->steps;
    if (goes_on <= 0) break;
    const double beyond = slice + 1 < on_keepers.size() ? generation.slices[slice + 1].steps / reached->steps : 0;
    tail.slices.push_back({on_keepers[slice] / goes_on, std::max(0.0, 1 - unfinished / of.samples),
                           idle_keepers(fused.keepers, unfinished), std::max(0.0, goes_on - beyond)});
  }
  return tail;
}

InterStage fuse(const GenerationTail& tail, const plan::GenerationStage& stage, const InferenceLoad& inference) {
  InterStage fused = tail.generation;
  const InferenceEnd end = inference_end(tail.devices, tail.slices, inference);
  fused.stage = stage;
  fused.apart += inference.overheads + inference.work;
  fused.set_up = end.set_up;
  fused.rest = end.rest;
  return fused;
}

InferenceLoad inference_of(const Scenario& scenario, const std::vector<plan::TaskPlan>& tasks,
                           const std::vector<std::size_t>& infer) {
  InferenceLoad inference;
  for (const std::size_t task : infer)
    inference.add(inference_task(scenario, task, tasks[task], task_seconds(scenario, task, tasks[task]).seconds));
  return inference;
}

}  // namespace

ActivitySeconds activity_seconds(const InterStage& fused) {
  return sum_of({{SecondsOf::until_threshold, fused.until},
                 {SecondsOf::migration, fused.migration},
                 {SecondsOf::tail, fused.tail},
                 {SecondsOf::rest, fused.rest}});
}

std::vector<GenerationTail> generation_tails(const Scenario& scenario, std::size_t generate,
                                             const plan::TaskPlan& planned, const std::vector<double>& thresholds) {
  const auto samples = workflow::sequences_of(scenario.job.workflow.tasks[generate], scenario.job.workload);
  const GenerationScenario of{scenario,
                              planned,
                              facts_of(scenario, generate),
                              cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency),
                              generation_seconds(scenario, generate, planned),
                              static_cast<double>(samples)};
  std::vector<GenerationTail> tails;
  SliceSeconds known;
  for (const double threshold : thresholds) tails.push_back(tail_at(of, threshold, known));
  return tails;
}

InterStage inter_stage(const Scenario& scenario, const std::vector<plan::TaskPlan>& tasks, double threshold) {
  const auto stage = plan::generation_stage(scenario.job, tasks);
  DOVETAIL_ASSERT(stage.has_value() && threshold > 0 && threshold < 1);
  const std::vector<GenerationTail> tails =
      generation_tails(scenario, stage->generate, tasks[stage->generate], {threshold});
  return fuse(tails.front(), *stage, inference_of(scenario, tasks, stage->infer));
}

std::optional<double> best_threshold(const Scenario& scenario, const std::vector<plan::TaskPlan>& tasks) {
  const auto stage = plan::generation_stage(scenario.job, tasks);
  if (!stage) return std::nullopt;
  const InferenceLoad inference = inference_of(scenario, tasks, stage->infer);
  std::optional<double> best;
  double least = 0;
  for (const GenerationTail& tail :
       generation_tails(scenario, stage->generate, tasks[stage->generate], simulate::usual_thresholds())) {
    // Where nothing moves nothing is gained.
    if (tail.slices.empty()) continue;
    const InterStage fused = fuse(tail, *stage, inference);
    if (fused.seconds() >= (best ? least : fused.apart)) continue;
    best = fused.threshold;
    least = fused.seconds();
  }
  return best;
}

}  // namespace dovetail::predict
