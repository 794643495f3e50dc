#include "timeline/schedule_timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace dovetail::timeline {
namespace {

using base::Memory;
using base::OpId;
using base::Ticks;
using pipeline::OpGraph;

constexpr std::string_view activation_held = "activation held";

/// Predecessor whose output arrives last.
struct Awaited {
  OpId op;
  Ticks ended;
  Ticks arrived;
};

class Builder {
 public:
  Builder(const pipeline::Problem& problem, const pipeline::LoweredSchedule& schedule)
      : graph_(schedule.lowering.graph), start_(schedule.evaluation.start), bar_of_(graph_.size(), -1) {
    for (const pipeline::Model& model : problem.models) {
      first_track_.push_back(tracks_);
      tracks_ += static_cast<std::int32_t>(model.replicas.size());
    }
  }

  /// Adds the lane of a device to `timeline`.
  void add_lane(Timeline& timeline, std::size_t device, std::vector<OpId> ops) {
    // An op of length 0 comes before one that starts at the same time, whatever the order.
    const auto key = [&](OpId op) { return std::tuple(start_of(op), end_of(op), op); };
    std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) { return key(a) < key(b); });
    const std::size_t first = timeline.bars.size();
    Ticks now;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      DOVETAIL_ASSERT(start_of(ops[i]) >= now);
      add_wait(timeline.bars, now, ops[i], i == 0);
      bar_of_[ops[i].index()] = static_cast<std::int32_t>(timeline.bars.size());
      timeline.bars.push_back(work_bar(ops[i]));
      now = end_of(ops[i]);
    }
    add_idle(timeline.bars, now, timeline.end, BarKind::drain, std::nullopt);
    timeline.lanes.push_back({fmt::format("device {}", device), timeline.bars.size() - first});
    timeline.counters.push_back({std::string(activation_held), "", device, memory_of(ops)});
  }

  /// Fills in the bars that idle bars await, once all are known.
  void resolve_waits(std::vector<Bar>& bars) const {
    for (const Wait& wait : waits_) bars[wait.bar].awaits = bar_of_[wait.op.index()];
  }

  std::vector<Arrow> arrows() const {
    std::vector<Arrow> arrows;
    for (std::size_t op = 0; op < graph_.size(); ++op) {
      for (const pipeline::Arc& arc : graph_.successors(OpId(op))) {
        if (graph_.device[op] != graph_.device[arc.op.index()])
          arrows.push_back({bar_of_[op], bar_of_[arc.op.index()]});
      }
    }
    return arrows;
  }

 private:
  /// An idle bar, and the op that it awaits.
  struct Wait {
    std::size_t bar;
    OpId op;
  };

  Ticks start_of(OpId op) const { return start_[op.index()]; }
  Ticks end_of(OpId op) const { return start_[op.index()] + graph_.duration[op.index()]; }

  std::optional<Awaited> latest_predecessor(OpId op) const {
    std::optional<Awaited> latest;
    for (const pipeline::Arc& arc : graph_.predecessors(op)) {
      const Awaited candidate{arc.op, end_of(arc.op), end_of(arc.op) + arc.lag};
      if (!latest || std::tuple(candidate.arrived, candidate.ended) > std::tuple(latest->arrived, latest->ended))
        latest = candidate;
    }
    return latest;
  }

  Bar work_bar(OpId op) const {
    const pipeline::OpLabel& label = graph_.labels[op.index()];
    Bar bar;
    bar.begin = start_of(op);
    bar.end = end_of(op);
    bar.bar_kind = bar_kind_of(label.kind);
    bar.track = first_track_[label.model.index()] + label.replica.value;
    bar.microbatch = label.microbatch.value;
    bar.stage = label.stage.value;
    return bar;
  }

  /// Adds the idle time from `from` until `next` starts.
  void add_wait(std::vector<Bar>& bars, Ticks from, OpId next, bool first) {
    const Ticks to = start_of(next);
    if (to == from) return;
    const std::optional<Awaited> awaited = latest_predecessor(next);
    if (first) return add_idle(bars, from, to, BarKind::warm_up, awaited);
    const Ticks ended = awaited ? std::clamp(awaited->ended, from, to) : from;
    const Ticks arrived = awaited ? std::clamp(awaited->arrived, from, to) : from;
    add_idle(bars, from, ended, BarKind::dependency, awaited);
    add_idle(bars, ended, arrived, BarKind::transfer, awaited);
    add_idle(bars, arrived, to, BarKind::delay, std::nullopt);
  }

  void add_idle(std::vector<Bar>& bars, Ticks from, Ticks to, BarKind cause, const std::optional<Awaited>& awaited) {
    if (to <= from) return;
    if (awaited) waits_.push_back({bars.size(), awaited->op});
    Bar bar;
    bar.begin = from;
    bar.end = to;
    bar.bar_kind = cause;
    bars.push_back(bar);
  }

  std::vector<std::pair<Ticks, Memory>> memory_of(const std::vector<OpId>& ops) const {
    std::vector<std::pair<Ticks, Memory>> changes;
    changes.reserve(2 * ops.size());
    for (const OpId op : ops) {
      changes.emplace_back(start_of(op), graph_.acquire[op.index()]);
      changes.emplace_back(end_of(op), Memory() - graph_.release[op.index()]);
    }
    std::sort(changes.begin(), changes.end());
    std::vector<std::pair<Ticks, Memory>> steps{{Ticks(), Memory()}};
    Memory held;
    for (std::size_t i = 0; i < changes.size();) {
      const Ticks time = changes[i].first;
      for (; i < changes.size() && changes[i].first == time; ++i) held += changes[i].second;
      if (time == Ticks()) {
        steps.front().second = held;
      } else if (held != steps.back().second) {
        steps.emplace_back(time, held);
      }
    }
    return steps;
  }

  const OpGraph& graph_;
  const std::vector<Ticks>& start_;
  std::int32_t tracks_ = 0;
  std::vector<std::int32_t> first_track_;  // [model]
  std::vector<std::int32_t> bar_of_;       // [op]
  std::vector<Wait> waits_;
};

}  // namespace

Timeline schedule_timeline(const pipeline::Problem& problem, const pipeline::LoweredSchedule& schedule,
                           std::string title) {
  Timeline timeline;
  timeline.title = std::move(title);
  timeline.time_unit = problem.time_unit;
  timeline.end = schedule.evaluation.makespan;
  timeline.lane_noun = "device";
  for (const pipeline::Pipeline& pipeline : pipeline::pipelines_of(problem)) {
    timeline.tracks.push_back(
        {pipeline::pipeline_name(problem, pipeline), pipeline.model.value, pipeline.replica.value});
  }
  Builder builder(problem, schedule);
  for (std::size_t device = 0; device < schedule.order.devices.size(); ++device)
    builder.add_lane(timeline, device, schedule.order.devices[device]);
  builder.resolve_waits(timeline.bars);
  timeline.arrows = builder.arrows();
  return timeline;
}

}  // namespace dovetail::timeline
