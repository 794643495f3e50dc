#include "place/predict/inter_stage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/assert.h"
#include "cost/machine.h"

namespace dovetail::place {
namespace {

/// What does not hang on the threshold.
struct GenerationGround {
  const Ground& ground;
  const plan::TaskPlan& planned;
  const cost::ModelFacts& facts;
  cost::Machine machine;
  cost::GenerationSeconds generation;
  double samples = 0;
};

/// m of the page's formula, for so many samples.
int keepers_of(const GenerationGround& of, double left) {
  const plan::TaskPlan& planned = of.planned;
  double most = std::ceil(left / of.generation.flat_batch);
  most = std::max(most, std::ceil(left / static_cast<double>(planned.engine.max_num_seqs)));
  const double longest = static_cast<double>(of.ground.lengths.longest()) * cost::key_value_bytes(of.facts, planned.layout);
  const double room = std::max(longest, key_value_room(of.facts, planned, of.machine.gpu));
  most = std::max(most, std::ceil(left * longest / room));
  return static_cast<int>(std::clamp(most, 1.0, static_cast<double>(planned.layout.data)));
}

/// Moves the samples of the others to the keepers at the beginning of `slice`.
void migrate(const GenerationGround& of, const cost::TailSlice& slice, InterStage& fused) {
  const plan::TaskPlan& planned = of.planned;
  fused.moved = slice.batch * (fused.instances - fused.keepers);
  const double received = fused.moved / fused.keepers;
  const bool inside = of.machine.devices_per_node >= planned.mesh.count;
  const cluster::Link& link = inside ? of.machine.links.inside : of.machine.links.between;
  const double bytes = received * slice.context * cost::key_value_bytes(of.facts, planned.layout);
  const double sending = cluster::send_seconds(link, bytes);
  const llm::Tokens tokens{received * slice.context, received * slice.context * slice.context};
  const double prefilling = cost::prefill_seconds(of.facts, planned.layout, tokens, of.machine, of.ground.software.efficiency);
  fused.prefills = prefilling < sending;
  fused.migration = std::min(sending, prefilling);
}

/// Of so many instances: [slice] seconds. Thresholds have few numbers of keepers.
using SliceSeconds = std::map<int, std::vector<double>>;

const std::vector<double>& seconds_on(const GenerationGround& of, int instances, SliceSeconds& known) {
  const auto [entry, is_new] = known.try_emplace(instances);
  if (is_new)
    for (const cost::TailSlice& slice : of.generation.slices)
      entry->second.push_back(
          cost::slice_seconds(of.facts, of.planned.layout, slice, instances, of.machine, of.ground.software.efficiency));
  return entry->second;
}

GenerationTail tail_at(const GenerationGround& of, double threshold, SliceSeconds& known) {
  const cost::GenerationSeconds& generation = of.generation;
  GenerationTail tail;
  InterStage& fused = tail.generation;
  fused.threshold = threshold;
  fused.instances = of.planned.layout.data;
  fused.apart = generation.sum();
  const double left = std::min(threshold * of.samples, generation.concurrency * fused.instances);
  const auto reached = std::find_if(generation.slices.begin(), generation.slices.end(),
                                    [&](const cost::TailSlice& slice) { return slice.batch * fused.instances <= left; });
  fused.keepers = reached == generation.slices.end() ? fused.instances : keepers_of(of, left);
  fused.until = generation.prefill + generation.recompute + generation.full;
  const auto first = static_cast<std::size_t>(reached - generation.slices.begin());
  const std::vector<double>& on_all = seconds_on(of, fused.instances, known);
  for (std::size_t slice = 0; slice < on_all.size(); ++slice)
    if (slice < first || fused.keepers == fused.instances) fused.until += on_all[slice];
  if (fused.keepers == fused.instances) return tail;
  migrate(of, *reached, fused);
  const std::vector<double>& on_keepers = seconds_on(of, fused.keepers, known);
  for (std::size_t slice = first; slice < on_keepers.size(); ++slice) {
    fused.tail += on_keepers[slice];
    tail.slices.push_back({on_keepers[slice], std::max(0.0, 1 - generation.slices[slice].batch * fused.instances / of.samples)});
  }
  return tail;
}

/// What part of all devices the freed ones are for the scoring tasks, in whole replicas of each; 0 where they make none.
double freed_share(const InterStage& fused, const ScoringLoad& scoring, double& replicas) {
  const double freed = static_cast<double>(fused.instances - fused.keepers) / fused.instances;
  double share = 1;
  replicas = std::numeric_limits<double>::max();
  for (const int all : scoring.replicas) {
    // Whole numbers but for rounding.
    const double whole = std::floor(freed * all + 1e-9);
    share = std::min(share, whole / all);
    replicas = std::min(replicas, whole);
  }
  return share;
}

InterStage fuse(const GenerationTail& tail, const plan::GenerationStage& stage, const ScoringLoad& scoring) {
  InterStage fused = tail.generation;
  const ScoringEnd end = scoring_end(tail, scoring);
  fused.stage = stage;
  fused.apart += scoring.overheads + scoring.work;
  fused.set_up = end.set_up;
  fused.rest = end.rest;
  return fused;
}

ScoringLoad scoring_of(const Ground& ground, const std::vector<plan::TaskPlan>& tasks, const std::vector<std::size_t>& infer) {
  ScoringLoad scoring;
  for (const std::size_t task : infer) {
    const double overhead = overhead_seconds(ground, task, tasks[task]).sum();
    scoring.add(task_seconds(ground, task, tasks[task]).seconds - overhead, overhead, tasks[task].layout.data);
  }
  return scoring;
}

}  // namespace

void ScoringLoad::add(double passes, double overhead, int data_parallel) {
  work += passes;
  overheads += overhead;
  most_overhead = std::max(most_overhead, overhead);
  replicas.push_back(data_parallel);
}

std::vector<GenerationTail> generation_tails(const Ground& ground, std::size_t generate, const plan::TaskPlan& planned,
                                             const std::vector<double>& thresholds) {
  const auto samples = workflow::sequences_of(ground.job.workflow.tasks[generate], ground.job.workload);
  const GenerationGround of{ground,
                            planned,
                            facts_of(ground, generate),
                            cost::machine_of(ground.job.cluster, planned.mesh, ground.software.efficiency),
                            generation_seconds(ground, generate, planned),
                            static_cast<double>(samples)};
  std::vector<GenerationTail> tails;
  SliceSeconds known;
  for (const double threshold : thresholds) tails.push_back(tail_at(of, threshold, known));
  return tails;
}

ScoringEnd scoring_end(const GenerationTail& tail, const ScoringLoad& scoring) {
  const InterStage& fused = tail.generation;
  if (fused.keepers == fused.instances) return {0, scoring.overheads + scoring.work};
  double replicas = 0;
  const double share = freed_share(fused, scoring, replicas);
  const bool side_by_side = replicas >= static_cast<double>(scoring.replicas.size());
  const double set_up = side_by_side ? scoring.most_overhead : scoring.overheads;
  if (share == 0) return {set_up, scoring.overheads + scoring.work};
  double setting_up = set_up;
  double done = 0;
  for (const GenerationTail::Slice& slice : tail.slices) {
    const double working = std::max(0.0, slice.seconds - setting_up);
    setting_up = std::max(0.0, setting_up - slice.seconds);
    done = std::max(done, std::min(done + working * share, scoring.work * slice.finished));
  }
  // The freed go on while the keepers are set up; then all work.
  const double left = scoring.work - done;
  const double meanwhile = share * std::max(0.0, set_up - setting_up);
  return {set_up, left <= meanwhile ? setting_up + left / share : set_up + left - meanwhile};
}

std::vector<double> usual_thresholds() {
  std::vector<double> thresholds;
  for (int percent = 5; percent <= 95; percent += 5) thresholds.push_back(percent / 100.0);
  return thresholds;
}

InterStage inter_stage(const Ground& ground, const std::vector<plan::TaskPlan>& tasks, double threshold) {
  const auto stage = plan::generation_stage(ground.job, tasks);
  DOVETAIL_ASSERT(stage.has_value() && threshold > 0 && threshold < 1);
  const std::vector<GenerationTail> tails = generation_tails(ground, stage->generate, tasks[stage->generate], {threshold});
  return fuse(tails.front(), *stage, scoring_of(ground, tasks, stage->infer));
}

std::optional<double> best_threshold(const Ground& ground, const std::vector<plan::TaskPlan>& tasks) {
  const auto stage = plan::generation_stage(ground.job, tasks);
  if (!stage) return std::nullopt;
  const ScoringLoad scoring = scoring_of(ground, tasks, stage->infer);
  std::optional<double> best;
  double least = 0;
  for (const GenerationTail& tail : generation_tails(ground, stage->generate, tasks[stage->generate], usual_thresholds())) {
    // Where nothing moves nothing is gained.
    if (tail.slices.empty()) continue;
    const InterStage fused = fuse(tail, *stage, scoring);
    if (fused.seconds() >= (best ? least : fused.apart)) continue;
    best = fused.threshold;
    least = fused.seconds();
  }
  return best;
}

}  // namespace dovetail::place
