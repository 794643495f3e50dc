#include "place/predict/inter_stage.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "cost/machine.h"

namespace dovetail::place {
namespace {

/// The scoring tasks of a stage together.
struct Scoring {
  double work = 0;               ///< seconds of their passes on all devices
  double overheads = 0;          ///< of all tasks, one after the other
  double most_overhead = 0;      ///< of one task
  std::vector<double> replicas;  ///< [task] data-parallel ones
};

/// What does not hang on the threshold.
struct StageGround {
  const Ground& ground;
  plan::GenerationStage stage;
  const plan::TaskPlan& planned;  // of generation
  const cost::ModelFacts& facts;
  cost::Machine machine;
  cost::GenerationSeconds generation;
  double samples = 0;
  Scoring scoring;
};

Scoring scoring_of(const Ground& ground, const std::vector<plan::TaskPlan>& tasks, const std::vector<std::size_t>& infer) {
  Scoring scoring;
  for (const std::size_t task : infer) {
    const double overhead = overhead_seconds(ground, task, tasks[task]).sum();
    scoring.work += task_seconds(ground, task, tasks[task]).seconds - overhead;
    scoring.overheads += overhead;
    scoring.most_overhead = std::max(scoring.most_overhead, overhead);
    scoring.replicas.push_back(tasks[task].layout.data);
  }
  return scoring;
}

StageGround stage_ground(const Ground& ground, const std::vector<plan::TaskPlan>& tasks, plan::GenerationStage stage) {
  const std::size_t generate = stage.generate;
  const plan::TaskPlan& planned = tasks[generate];
  const auto samples = workflow::sequences_of(ground.job.workflow.tasks[generate], ground.job.workload);
  Scoring scoring = scoring_of(ground, tasks, stage.infer);
  return {ground,
          std::move(stage),
          planned,
          facts_of(ground, generate),
          cost::machine_of(ground.job.cluster, planned.mesh, ground.software.efficiency),
          generation_seconds(ground, generate, planned),
          static_cast<double>(samples),
          std::move(scoring)};
}

/// m of the page's formula, for so many samples.
int keepers_of(const StageGround& of, double left) {
  const plan::TaskPlan& planned = of.planned;
  double most = std::ceil(left / of.generation.flat_batch);
  most = std::max(most, std::ceil(left / static_cast<double>(planned.engine.max_num_seqs)));
  const double longest = static_cast<double>(of.ground.lengths.longest()) * cost::key_value_bytes(of.facts, planned.layout);
  const double room = std::max(longest, key_value_room(of.facts, planned, of.machine.gpu));
  most = std::max(most, std::ceil(left * longest / room));
  return static_cast<int>(std::clamp(most, 1.0, static_cast<double>(planned.layout.data)));
}

/// Moves the samples of the others to the keepers at the beginning of `slice`.
void migrate(const StageGround& of, const cost::TailSlice& slice, InterStage& fused) {
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

/// What part of all devices the freed ones are for the scoring tasks, in whole replicas of each; 0 where they make none.
double freed_share(const StageGround& of, const InterStage& fused, double& replicas) {
  const double freed = static_cast<double>(fused.instances - fused.keepers) / fused.instances;
  double share = 1;
  replicas = of.planned.mesh.count;
  for (const double all : of.scoring.replicas) {
    // Whole numbers but for rounding.
    const double whole = std::floor(freed * all + 1e-9);
    share = std::min(share, whole / all);
    replicas = std::min(replicas, whole);
  }
  return share;
}

/// The tail on the keepers from slice `first` on, with scoring beside it, and what is left behind it.
void play_tail(const StageGround& of, std::size_t first, InterStage& fused) {
  const Scoring& scoring = of.scoring;
  double replicas = 0;
  const double share = freed_share(of, fused, replicas);
  const bool side_by_side = replicas >= static_cast<double>(scoring.replicas.size());
  fused.set_up = side_by_side ? scoring.most_overhead : scoring.overheads;
  double setting_up = fused.set_up;
  double done = 0;
  for (std::size_t index = first; index < of.generation.slices.size(); ++index) {
    const cost::TailSlice& slice = of.generation.slices[index];
    const double seconds =
        cost::slice_seconds(of.facts, of.planned.layout, slice, fused.keepers, of.machine, of.ground.software.efficiency);
    fused.tail += seconds;
    const double working = std::max(0.0, seconds - setting_up);
    setting_up = std::max(0.0, setting_up - seconds);
    const double finished = std::max(0.0, 1 - slice.batch * fused.instances / of.samples);
    done = std::max(done, std::min(done + working * share, scoring.work * finished));
  }
  if (share == 0) {
    fused.rest = scoring.overheads + scoring.work;
    return;
  }
  // The freed go on while the keepers are set up; then all work.
  const double left = scoring.work - done;
  const double meanwhile = share * std::max(0.0, fused.set_up - setting_up);
  fused.rest = left <= meanwhile ? setting_up + left / share : fused.set_up + left - meanwhile;
}

InterStage fuse(const StageGround& of, double threshold) {
  const cost::GenerationSeconds& generation = of.generation;
  const Scoring& scoring = of.scoring;
  InterStage fused;
  fused.stage = of.stage;
  fused.threshold = threshold;
  fused.instances = of.planned.layout.data;
  fused.apart = generation.sum() + scoring.overheads + scoring.work;
  const double left = std::min(threshold * of.samples, generation.concurrency * fused.instances);
  const auto reached = std::find_if(generation.slices.begin(), generation.slices.end(),
                                    [&](const cost::TailSlice& slice) { return slice.batch * fused.instances <= left; });
  fused.keepers = reached == generation.slices.end() ? fused.instances : keepers_of(of, left);
  fused.until = generation.prefill + generation.recompute + generation.full;
  const cost::Efficiency& efficiency = of.ground.software.efficiency;
  for (auto slice = generation.slices.begin(); slice != generation.slices.end(); ++slice)
    if (slice < reached || fused.keepers == fused.instances)
      fused.until += cost::slice_seconds(of.facts, of.planned.layout, *slice, fused.instances, of.machine, efficiency);
  if (fused.keepers == fused.instances) {
    fused.rest = scoring.overheads + scoring.work;
    return fused;
  }
  migrate(of, *reached, fused);
  play_tail(of, static_cast<std::size_t>(reached - generation.slices.begin()), fused);
  return fused;
}

}  // namespace

InterStage inter_stage(const Ground& ground, const std::vector<plan::TaskPlan>& tasks, double threshold) {
  auto stage = plan::generation_stage(ground.job, tasks);
  DOVETAIL_ASSERT(stage.has_value() && threshold > 0 && threshold < 1);
  return fuse(stage_ground(ground, tasks, std::move(*stage)), threshold);
}

std::optional<double> best_threshold(const Ground& ground, const std::vector<plan::TaskPlan>& tasks) {
  auto stage = plan::generation_stage(ground.job, tasks);
  if (!stage) return std::nullopt;
  const StageGround of = stage_ground(ground, tasks, std::move(*stage));
  std::optional<double> best;
  double least = 0;
  for (int percent = 5; percent <= 95; percent += 5) {
    const double threshold = percent / 100.0;
    const InterStage fused = fuse(of, threshold);
    if (fused.seconds() >= (best ? least : fused.apart)) continue;
    best = threshold;
    least = fused.seconds();
  }
  return best;
}

}  // namespace dovetail::place
