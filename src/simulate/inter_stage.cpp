#include "simulate/inter_stage.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "base/assert.h"
#include "simulate/inference_split.h"

namespace dovetail::simulate {

using base::Ticks;

namespace {

/// Adds the devices of an instance, free from this time on.
void add_devices(const Fleet& fleet, std::size_t instance, Ticks from, std::vector<FreeDevice>& devices) {
  for (const int device : fleet.devices[instance]) devices.push_back({device, from});
}

bool has_replica(const std::vector<InferTask>& tasks, std::size_t devices) {
  const auto fits = [devices](const InferTask& task) { return replicas_on(task, devices) > 0; };
  return tasks.empty() || std::any_of(tasks.begin(), tasks.end(), fits);
}

std::vector<Sample> padded(std::vector<Sample> samples, std::int64_t row) {
  for (Sample& sample : samples) sample.response = std::max(sample.response, row - sample.prompt);
  return samples;
}

}  // namespace

Stages::Stages(const InterStageTask& task, const std::vector<Sample>& samples)
    : task_(task), samples_(samples), rows_(padded(samples, task.row)), fleet_(fleet_of(task.generation, samples)) {
  DOVETAIL_ASSERT(!samples.empty());
  simulate_plain();
}

std::optional<StageTimes> Stages::with_threshold(double threshold) {
  const auto count = static_cast<double>(samples_.size());
  // 0.29 of 100 samples must be 29, whatever the product rounds to.
  const auto left =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::floor(threshold * count + 1e-6)), 1, samples_.size());
  if (left == samples_.size()) return std::nullopt;
  std::int64_t longest = task_.max_sequence;
  if (longest == 0)
    for (const Sample& sample : samples_) longest = std::max(longest, sample.prompt + sample.response);
  const std::size_t instances = fleet_.devices.size();
  const std::size_t destinations = destination_count(task_.generation, fleet_, samples_, left, longest);
  if (destinations >= instances) return std::nullopt;
  const std::size_t freed = (instances - destinations) * fleet_.devices.front().size();
  const std::size_t later = destinations * fleet_.devices.front().size();
  if (!has_replica(task_.infer, freed) || !can_split(task_.infer, freed, later)) return std::nullopt;
  const Ticks at = time_of(left);
  if (static_cast<double>((plain_.generation_end - at).count()) <
      min_tail * static_cast<double>(plain_.generation_end.count()))
    return std::nullopt;
  return simulate_fused(at, destinations);
}

Ticks Stages::side_by_side() const {
  if (task_.infer.size() < 2) return plain_.end;
  std::vector<FreeDevice> all;
  for (std::size_t instance = 0; instance < fleet_.devices.size(); ++instance)
    add_devices(fleet_, instance, plain_.generation_end + task_.drop, all);
  const std::vector<Ticks> ready(samples_.size(), plain_.generation_end);
  return infer_best(task_.infer, rows_, ready, std::move(all), {}).inference.end;
}

/// Returns the time from which at most `left` samples are unfinished.
Ticks Stages::time_of(std::size_t left) const {
  std::vector<Ticks> finished = plain_.finished;
  const auto place = finished.begin() + static_cast<std::ptrdiff_t>(finished.size() - left - 1);
  std::nth_element(finished.begin(), place, finished.end());
  return *place;
}

StageTimes Stages::finish(const std::vector<Instance>& instances) const {
  StageTimes times;
  times.finished.resize(samples_.size());
  for (const Instance& instance : instances) {
    times.logs.push_back(instance.log());
    for (const auto& [sample, time] : instance.log().finished) times.finished[sample] = time;
  }
  times.generation_end = *std::max_element(times.finished.begin(), times.finished.end());
  return times;
}

void Stages::simulate_plain() {
  std::vector<Instance> instances = instances_of(fleet_, task_.generation, samples_);
  for (Instance& instance : instances) instance.run_until(Ticks::max());
  plain_ = finish(instances);
  const Ticks end = plain_.generation_end;
  plain_.stopped.assign(instances.size(), end);
  plain_.left = plain_.stopped;
  if (task_.infer.empty()) {
    plain_.end = end;
    return;
  }
  Worker& all = plain_.workers.emplace_back();
  for (const std::vector<int>& devices : fleet_.devices)
    all.devices.insert(all.devices.end(), devices.begin(), devices.end());
  all.from = plain_.end = end + task_.drop;
  plain_.inference.spans.emplace_back();
  plain_.inference.memory.emplace_back();
  for (const InferTask& infer : task_.infer) infer_alone(infer);
}

/// Appends an inference task on all devices to plain_.
void Stages::infer_alone(const InferTask& infer) {
  plain_.inference.memory.front().emplace_back(plain_.end, infer.held);
  for (const auto& [length, bar_kind] : {std::pair(infer.hand_over, BarKind::hand_over),
                                         {infer.load, BarKind::loading},
                                         {infer.uncontended, BarKind::infer}}) {
    if (length == Ticks(0)) continue;
    plain_.inference.spans.front().push_back({plain_.end, plain_.end + length, bar_kind, infer.task, 0, {}});
    plain_.end += length;
  }
  plain_.inference.scored.emplace_back(samples_.size(), plain_.end);
  plain_.inference.end = plain_.end;
}

StageTimes Stages::simulate_fused(Ticks at, std::size_t destinations) {
  std::vector<Instance> instances = instances_of(fleet_, task_.generation, samples_);
  for (Instance& instance : instances) instance.run_until(at);
  std::vector<Ticks> stopped;
  for (const Instance& instance : instances) stopped.push_back(std::max(at, instance.now()));
  std::vector<Ticks> left;
  const Migration migration = migrate(task_.generation, fleet_, instances, at, destinations, left);
  std::vector<FreeDevice> freed;
  std::vector<FreeDevice> later;
  for (std::size_t instance = 0; instance < instances.size(); ++instance) {
    const bool stays = std::binary_search(migration.destinations.begin(), migration.destinations.end(), instance);
    if (stays) {
      instances[instance].run_until(Ticks::max());
      stopped[instance] = left[instance] = std::max(at, instances[instance].now());
    }
    add_devices(fleet_, instance, left[instance] + task_.drop, stays ? later : freed);
  }
  StageTimes times = finish(instances);
  times.migration = migration;
  times.stopped = std::move(stopped);
  times.left = std::move(left);
  SplitInference split = infer_best(task_.infer, rows_, times.finished, std::move(freed), std::move(later));
  times.workers = std::move(split.workers);
  times.inference = std::move(split.inference);
  times.end = std::max(times.generation_end, times.inference.end);
  return times;
}

namespace {

InterStage answer_of(const InterStageTask& task, const Stages& stages, const StageTimes& times) {
  InterStage answer;
  answer.trace = trace_of(task, stages.fleet(), times);
  answer.generation_end = times.generation_end;
  answer.end = times.end;
  answer.finished = times.finished;
  answer.scored = times.inference.scored;
  for (const InstanceLog& log : times.logs) add_counts(log, answer.counts);
  answer.migration = times.migration;
  answer.without = stages.plain().end;
  return answer;
}

}  // namespace

InterStage simulate_inter_stage(const InterStageTask& task, const std::vector<Sample>& samples,
                                std::optional<double> threshold) {
  DOVETAIL_ASSERT(!threshold || (*threshold > 0 && *threshold < 1));
  Stages stages(task, samples);
  std::optional<StageTimes> fused;
  if (threshold) fused = stages.with_threshold(*threshold);
  return answer_of(task, stages, fused ? *fused : stages.plain());
}

using base::Ticks;

namespace {

constexpr int no_worker = -1;

/// Appends spans and fills gaps with idle time.
class LaneSpans {
 public:
  LaneSpans(const StageTimes& times, std::int32_t task) : times_(times), task_(task) {}

  /// Cuts spans at the end, such as loading weights that are no longer needed.
  void add(Span span, BarKind idle) {
    span.end = std::min(span.end, times_.end);
    if (span.end <= span.begin) return;
    idle_until(span.begin, idle);
    spans_.push_back(span);
    at_ = span.end;
  }

  /// Idle time before the end of generation counts as tail.
  void idle_until(Ticks time, BarKind idle) {
    const Ticks in_tail = std::min(time, times_.generation_end);
    if (in_tail > at_) put(in_tail, BarKind::tail);
    if (time > at_) put(time, idle);
  }

  std::vector<Span> take() { return std::move(spans_); }

 private:
  void put(Ticks end, BarKind bar_kind) {
    spans_.push_back({at_, end, bar_kind, task_});
    at_ = end;
  }

  const StageTimes& times_;
  std::int32_t task_;
  Ticks at_;
  std::vector<Span> spans_;
};

Lane lane_of(const InterStageTask& stages, const StageTimes& times, std::size_t instance, int worker) {
  const std::int32_t task = stages.generation.task;
  const InstanceLog& log = times.logs[instance];
  LaneSpans spans(times, task);
  for (const Span& span : log.spans) spans.add(span, BarKind::tail);
  spans.idle_until(times.stopped[instance], BarKind::tail);
  const Ticks left = times.left[instance];
  if (left > times.stopped[instance])
    spans.add({times.stopped[instance], left, BarKind::migration, task}, BarKind::tail);
  Lane lane;
  lane.memory = log.memory;
  for (auto& [time, bytes] : lane.memory) bytes += stages.held;
  if (worker != no_worker) {
    const auto index = static_cast<std::size_t>(worker);
    const std::vector<Span>& scored = times.inference.spans[index];
    if (!scored.empty()) spans.add({left, left + stages.drop, BarKind::loading, task}, BarKind::dependency);
    for (const Span& span : scored) spans.add(span, BarKind::dependency);
    for (const auto& step : times.inference.memory[index]) {
      if (step.first > times.end) break;
      // An entry at the same time replaces the previous one.
      if (!lane.memory.empty() && lane.memory.back().first == step.first) lane.memory.pop_back();
      lane.memory.push_back(step);
    }
  }
  spans.idle_until(times.end, BarKind::imbalance);
  lane.spans = spans.take();
  return lane;
}

}  // namespace

Trace trace_of(const InterStageTask& task, const Fleet& fleet, const StageTimes& times) {
  std::map<int, int> worker_of;
  for (std::size_t worker = 0; worker < times.workers.size(); ++worker)
    for (const int device : times.workers[worker].devices) worker_of[device] = static_cast<int>(worker);
  Trace trace;
  trace.end = times.end;
  for (std::size_t instance = 0; instance < fleet.devices.size(); ++instance) {
    std::map<int, std::vector<int>> parts;  // by worker
    for (const int device : fleet.devices[instance]) {
      const auto found = worker_of.find(device);
      parts[found == worker_of.end() ? no_worker : found->second].push_back(device);
    }
    for (auto& [worker, devices] : parts) {
      Lane lane = lane_of(task, times, instance, worker);
      lane.devices = std::move(devices);
      trace.lanes.push_back(std::move(lane));
    }
  }
  return trace;
}

}  // namespace dovetail::simulate
