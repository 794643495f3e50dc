#include "predict/closed_form/inter_stage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "base/assert.h"
#include "cost/machine.h"
#include "cost/training.h"
#include "predict/closed_form/activity_seconds.h"
#include "simulate/inter_stage.h"
#include "simulate/threshold.h"

namespace dovetail::predict {
namespace {

/// Workers that run the same tasks.
struct InferenceGroup {
  int size = 1;  ///< devices of each worker
  int tasks = 0;
  double work = 0;      ///< seconds of all its tasks on one worker
  double overhead = 0;  ///< seconds of each worker, once
  double last = 0;      ///< seconds for one sample
  double loads = 0;     ///< seconds of all models' loads
  double max_load = 0;
  int workers = 0;

  double seconds() const { return work / workers; }

  /// REQUIRES: a replica fits on a worker.
  void add(const InferenceTask& task, int replica) {
    const int side_by_side = size / replica;
    ++tasks;
    work += task.passes * task.replicas / side_by_side;
    overhead += task.set_up();
    last += task.last;
    loads += task.loading();
    max_load = std::max(max_load, task.loading());
  }
};

/// Workers on the freed devices, and tasks that must wait.
struct Split {
  std::vector<InferenceGroup> groups;
  double after = 0;  ///< seconds of tasks that fit only on the keepers' devices
};

/// Returns the groups of tasks, without workers yet. nullopt if no task fits on the freed devices, or if one fits
/// nowhere.
std::optional<Split> split_of(const TailDevices& devices, const InferenceLoad& inference) {
  Split split;
  int left = devices.freed();
  for (const InferenceTask& task : inference.tasks) {
    const int replica = devices.all / task.replicas;
    InferenceGroup* host = nullptr;
    if (replica <= left) {
      host = &split.groups.emplace_back();
      host->size = replica;
      left -= replica;
    } else {
      for (InferenceGroup& group : split.groups)
        if (replica <= group.size && (host == nullptr || group.work < host->work)) host = &group;
    }
    const int later = devices.later() / replica;
    if (host != nullptr)
      host->add(task, replica);
    else if (later > 0)
      split.after += task.set_up() + task.passes * task.replicas / later;
    else
      return std::nullopt;
  }
  if (split.groups.empty()) return std::nullopt;
  return split;
}

/// Gives each group workers in proportion to its work, but at least one. Remaining devices go to the group with the
/// most work per worker.
void hand_out(int freed, std::vector<InferenceGroup>& groups) {
  int left = freed;
  double work = 0;  // work of groups that may get more than one worker, in seconds times devices
  for (bool fixed = true; fixed;) {
    fixed = false;
    work = 0;
    for (const InferenceGroup& group : groups)
      if (group.workers == 0) work += group.size * group.work;
    for (InferenceGroup& group : groups) {
      if (fixed || group.workers > 0 || left * group.work >= work) continue;
      group.workers = 1;
      left -= group.size;
      fixed = true;
    }
  }
  const int shared = left;
  for (InferenceGroup& group : groups) {
    if (group.workers > 0) continue;
    group.workers = work > 0 ? std::max(1, static_cast<int>(shared * group.work / work)) : 1;
    left -= group.size * group.workers;
  }
  for (;;) {
    InferenceGroup* neediest = nullptr;
    for (InferenceGroup& group : groups)
      if (group.size <= left && (neediest == nullptr || group.seconds() > neediest->seconds())) neediest = &group;
    if (neediest == nullptr) return;
    ++neediest->workers;
    left -= neediest->size;
  }
}

/// Progress of all groups together, at the pace of the slowest.
struct Pace {
  double seconds = 0;  ///< seconds of all work, on the freed devices alone
  double set_up = 0;
  double joining = 0;  ///< set-up of a worker that joins them
  double last = 0;     ///< seconds after the end of the last sample, if nothing else is left
  int largest = 1;     ///< devices of the largest worker
};

Pace pace_of(const std::vector<InferenceGroup>& groups) {
  Pace pace;
  pace.seconds = 1e-9;  // no division by zero if there is no work
  for (const InferenceGroup& group : groups) {
    pace.seconds = std::max(pace.seconds, group.seconds());
    pace.set_up = std::max(pace.set_up, group.overhead);
    pace.joining = std::max(pace.joining, group.overhead / group.tasks);
    pace.last = std::max(pace.last, group.last + group.loads - group.max_load);
    pace.largest = std::max(pace.largest, group.size);
  }
  return pace;
}

/// Progress of inference while the tail continues.
class TailInference {
 public:
  TailInference(const TailDevices& devices, const Pace& pace)
      : devices_(devices),
        pace_(pace),
        keeper_(static_cast<double>(devices.of_instance()) / devices.freed()),
        keepers_help_(pace.largest <= devices.of_instance()),
        setting_up_(pace.set_up) {}

  void pass(const TailSlice& slice) {
    const double working = std::max(0.0, slice.seconds - setting_up_);
    setting_up_ = std::max(0.0, setting_up_ - slice.seconds);
    done_ = std::min(slice.finished, done_ + working * speed_ / pace_.seconds);
    if (!keepers_help_ || slice.idle <= joined_ || (slice.finished - done_) * pace_.seconds <= pace_.joining * speed_)
      return;
    // Subtract all work that the new workers miss during their set-up.
    done_ -= (slice.idle - joined_) * keeper_ * pace_.joining / pace_.seconds;
    joined_ = slice.idle;
    speed_ = 1 + joined_ * keeper_;
  }

  /// Returns the seconds from the end of the tail until all inference is done.
  double rest() const {
    const double left = (1 - done_) * pace_.seconds;
    const double alone = std::max(pace_.last, setting_up_ + left / speed_);
    if (alone <= pace_.joining || pace_.largest > devices_.later()) return alone;
    const double all = 1 + devices_.kept_instances * keeper_;
    return std::max({pace_.last, pace_.joining, (left + speed_ * setting_up_ + (all - speed_) * pace_.joining) / all});
  }

 private:
  const TailDevices& devices_;
  const Pace& pace_;
  double keeper_;  // a keeper's devices relative to the freed devices
  bool keepers_help_;
  double setting_up_;
  double done_ = 0;    // fraction of all work
  double joined_ = 0;  // number of keepers
  double speed_ = 1;   // speed relative to the freed devices alone
};

}  // namespace

InferenceTask inference_task(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned,
                             double seconds) {
  const OverheadSeconds overhead = overhead_seconds(scenario, task, planned);
  const auto longest = static_cast<double>(scenario.lengths.longest());
  const cost::InferencePasses passes = cost::inference_passes(
      facts_of(scenario, task), planned.layout, {longest, longest * longest},
      cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency), scenario.software.efficiency);
  double last = passes.hop * (planned.layout.pipeline - 1);
  for (const cost::PassSeconds& stage : passes.stages) last += stage.sum();
  return {seconds - overhead.sum(), overhead.host_transfers,
          overhead.hand_over,       last,
          planned.layout.data,      gathering_seconds(scenario, task, planned)};
}

void InferenceLoad::add(const InferenceTask& task) {
  work += task.passes;
  overheads += task.overhead();
  const auto after = std::find_if(tasks.begin(), tasks.end(),
                                  [&](const InferenceTask& known) { return known.replicas > task.replicas; });
  tasks.insert(after, task);
}

void InferenceLoad::clear() {
  work = overheads = 0;
  tasks.clear();
}

InferenceEnd inference_end(const TailDevices& devices, const std::vector<TailSlice>& slices,
                           const InferenceLoad& inference, double max_seconds) {
  const InferenceEnd one_by_one{0, inference.overheads + inference.work};
  if (devices.kept_instances == devices.instances) return one_by_one;
  std::optional<Split> split = split_of(devices, inference);
  if (!split) return one_by_one;
  hand_out(devices.freed(), split->groups);
  const Pace pace = pace_of(split->groups);
  TailInference in_tail(devices, pace);
  double rest = split->after;
  for (const TailSlice& slice : slices) {
    in_tail.pass(slice);
    if (slice.ends > 0) rest += slice.ends * in_tail.rest();
    if (rest >= max_seconds) break;
  }
  return {pace.set_up, rest};
}

double max_hidden(const TailDevices& devices, const std::vector<TailSlice>& slices) {
  double inference = devices.freed();  // working devices
  double done = 0;
  double mean = 0;
  for (const TailSlice& slice : slices) {
    done += slice.seconds * inference / devices.all;
    mean += slice.ends * done;
    inference = std::max(inference, devices.freed() + slice.idle * devices.of_instance());
  }
  return mean;
}

namespace {

/// Input that does not depend on the threshold.
struct GenerationScenario {
  const Scenario& scenario;
  const plan::TaskPlan& planned;
  const cost::ModelFacts& facts;
  cost::Machine machine;
  cost::GenerationSeconds generation;
  double samples = 0;
};

/// Returns the number m of keepers in the formula of inter_stage.h, for `left` unfinished samples.
int kept_instances_of(const GenerationScenario& of, double left) {
  const plan::TaskPlan& planned = of.planned;
  double most = std::ceil(left / of.generation.flat_batch);
  most = std::max(most, std::ceil(left / static_cast<double>(planned.engine.max_num_seqs)));
  const double longest =
      static_cast<double>(of.scenario.lengths.longest()) * cost::key_value_bytes(of.facts, planned.layout);
  const double capacity =
      std::max(longest, key_value_capacity(of.facts, planned, of.machine.gpu, of.scenario.job.software.engine));
  most = std::max(most, std::ceil(left * longest / capacity));
  return static_cast<int>(std::clamp(most, 1.0, static_cast<double>(planned.layout.data)));
}

/// Moves the samples of the other instances to the keepers at the beginning of `slice`.
void migrate(const GenerationScenario& of, const cost::TailSlice& slice, InterStage& fused) {
  const plan::TaskPlan& planned = of.planned;
  fused.moved = slice.batch * (fused.instances - fused.kept_instances);
  const double received = fused.moved / fused.kept_instances;
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

/// [slice] seconds, by number of instances. Many thresholds have the same number of keepers.
using SliceSeconds = std::map<int, std::vector<double>>;

const std::vector<double>& seconds_on(const GenerationScenario& of, int instances, SliceSeconds& known) {
  const auto [entry, is_new] = known.try_emplace(instances);
  if (is_new)
    for (const cost::TailSlice& slice : of.generation.slices)
      entry->second.push_back(cost::slice_seconds(of.facts, of.planned.layout, slice, instances, of.machine,
                                                  of.scenario.software.efficiency));
  return entry->second;
}

/// Returns the mean number of keepers without unfinished samples, given that at least one keeper has some.
double idle_kept_instances(int keepers, double unfinished) {
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
  fused.kept_instances = rest < simulate::min_tail * generation.sum() ? fused.instances : kept_instances_of(of, left);
  fused.until = generation.prefill + generation.recompute + generation.full + generation.imbalance;
  for (std::size_t slice = 0; slice < on_all.size(); ++slice)
    if (slice < first || fused.kept_instances == fused.instances) fused.until += on_all[slice];
  if (fused.kept_instances == fused.instances) return tail;
  tail.devices.kept_instances = fused.kept_instances;
  migrate(of, *reached, fused);
  const std::vector<double>& on_keepers = seconds_on(of, fused.kept_instances, known);
  for (std::size_t slice = first; slice < on_keepers.size(); ++slice) {
    fused.tail += on_keepers[slice];
    const cost::TailSlice& of_all = generation.slices[slice];
    const double unfinished = of_all.batch * fused.instances;
    // The steps of a slice are weighted by the probability that the tail has not ended before it.
    const double not_ended = of_all.steps / reached->steps;
    if (not_ended <= 0) break;
    const double beyond = slice + 1 < on_keepers.size() ? generation.slices[slice + 1].steps / reached->steps : 0;
    tail.slices.push_back({on_keepers[slice] / not_ended, std::max(0.0, 1 - unfinished / of.samples),
                           idle_kept_instances(fused.kept_instances, unfinished), std::max(0.0, not_ended - beyond)});
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
       generation_tails(scenario, stage->generate, tasks[stage->generate], simulate::default_thresholds())) {
    // Without migration there is no gain.
    if (tail.slices.empty()) continue;
    const InterStage fused = fuse(tail, *stage, inference);
    if (fused.seconds() >= (best ? least : fused.apart)) continue;
    best = fused.threshold;
    least = fused.seconds();
  }
  return best;
}

}  // namespace dovetail::predict
