#include "simulate/inter_stage_trace.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace dovetail::simulate {

using base::Ticks;

namespace {

constexpr int nobody = -1;

/// Puts spans behind each other, and idling where there are none.
class LaneSpans {
 public:
  LaneSpans(const PlayedStages& played, std::int32_t task) : played_(played), task_(task) {}

  /// What goes on beyond the end, such as weights for which nothing is left to do, is cut.
  void add(Span span, BarKind idle) {
    span.end = std::min(span.end, played_.end);
    if (span.end <= span.begin) return;
    idle_until(span.begin, idle);
    spans_.push_back(span);
    at_ = span.end;
  }

  /// Up to the end of generation it is the tail.
  void idle_until(Ticks time, BarKind idle) {
    const Ticks in_tail = std::min(time, played_.generation_end);
    if (in_tail > at_) put(in_tail, BarKind::tail);
    if (time > at_) put(time, idle);
  }

  std::vector<Span> take() { return std::move(spans_); }

 private:
  void put(Ticks end, BarKind bar_kind) {
    spans_.push_back({at_, end, bar_kind, task_});
    at_ = end;
  }

  const PlayedStages& played_;
  std::int32_t task_;
  Ticks at_;
  std::vector<Span> spans_;
};

Lane lane_of(const InterStageTask& stages, const PlayedStages& played, std::size_t instance, int worker) {
  const std::int32_t task = stages.generation.task;
  const InstanceLog& log = played.logs[instance];
  LaneSpans spans(played, task);
  for (const Span& span : log.spans) spans.add(span, BarKind::tail);
  spans.idle_until(played.stopped[instance], BarKind::tail);
  const Ticks left = played.left[instance];
  if (left > played.stopped[instance])
    spans.add({played.stopped[instance], left, BarKind::migration, task}, BarKind::tail);
  Lane lane;
  lane.memory = log.memory;
  for (auto& [time, bytes] : lane.memory) bytes += stages.held;
  if (worker != nobody) {
    const auto index = static_cast<std::size_t>(worker);
    const std::vector<Span>& scored = played.inference.spans[index];
    if (!scored.empty()) spans.add({left, left + stages.drop, BarKind::loading, task}, BarKind::dependency);
    for (const Span& span : scored) spans.add(span, BarKind::dependency);
    for (const auto& step : played.inference.memory[index]) {
      if (step.first > played.end) break;
      // What comes at the same moment takes the place of what was there.
      if (!lane.memory.empty() && lane.memory.back().first == step.first) lane.memory.pop_back();
      lane.memory.push_back(step);
    }
  }
  spans.idle_until(played.end, BarKind::imbalance);
  lane.spans = spans.take();
  return lane;
}

}  // namespace

Trace trace_of(const InterStageTask& task, const Fleet& fleet, const PlayedStages& played) {
  std::map<int, int> worker_of;
  for (std::size_t worker = 0; worker < played.workers.size(); ++worker)
    for (const int device : played.workers[worker].devices) worker_of[device] = static_cast<int>(worker);
  Trace trace;
  trace.end = played.end;
  for (std::size_t instance = 0; instance < fleet.devices.size(); ++instance) {
    std::map<int, std::vector<int>> parts;  // by worker
    for (const int device : fleet.devices[instance]) {
      const auto found = worker_of.find(device);
      parts[found == worker_of.end() ? nobody : found->second].push_back(device);
    }
    for (auto& [worker, devices] : parts) {
      Lane lane = lane_of(task, played, instance, worker);
      lane.devices = std::move(devices);
      trace.lanes.push_back(std::move(lane));
    }
  }
  return trace;
}

}  // namespace dovetail::simulate
