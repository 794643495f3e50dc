#include <fmt/format.h>

#include "answer/runs/replay.h"
#include "pipeline/schedule/evaluate.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::answer {
namespace {

using base::Ticks;
using timeline::Bar;
using timeline::BarKind;

void add_idle(std::vector<Bar>& bars, Ticks from, Ticks to, BarKind cause) {
  if (from >= to) return;
  Bar& bar = bars.emplace_back();
  bar.begin = from;
  bar.end = to;
  bar.bar_kind = cause;
}

/// The ops of a rank with the idle time between them.
std::vector<Bar> bars_of_rank(const std::vector<execute::ReplayedOp>& ops, const std::vector<std::int32_t>& first_track,
                              Ticks end) {
  std::vector<Bar> bars;
  Ticks now;
  for (const execute::ReplayedOp& op : ops) {
    add_idle(bars, now, op.measured.begin, bars.empty() ? BarKind::warm_up : BarKind::bubble);
    Bar& bar = bars.emplace_back();
    bar.begin = op.measured.begin;
    bar.end = now = op.measured.end;
    bar.bar_kind = timeline::bar_kind_of(op.label.kind);
    bar.track = first_track[op.label.model.index()] + op.label.replica.value;
    bar.microbatch = op.label.microbatch.value;
    bar.stage = op.label.stage.value;
  }
  add_idle(bars, now, end, BarKind::drain);
  return bars;
}

}  // namespace

timeline::Timeline planned_timeline(const ReplayAnswer& answer) {
  timeline::Timeline timeline = timeline::schedule_timeline(
      answer.schedule.problem, pipeline::evaluate(answer.schedule), answer.source.name + ", as scheduled");
  timeline.time_unit = base::TimeUnit::ms;
  return timeline;
}

timeline::Timeline measured_timeline(const ReplayAnswer& answer) {
  timeline::Timeline timeline;
  timeline.title = answer.source.name + ", replayed";
  timeline.lane_noun = "device";
  timeline.time_unit = base::TimeUnit::ms;
  timeline.end = answer.figures.measured;
  std::vector<std::int32_t> first_track;
  for (const pipeline::Model& model : answer.schedule.problem.models) {
    first_track.push_back(static_cast<std::int32_t>(timeline.tracks.size()));
    for (std::size_t replica = 0; replica < model.replicas.size(); ++replica) {
      const pipeline::Pipeline pipeline{base::ModelId(first_track.size() - 1), base::ReplicaId(replica)};
      timeline.tracks.push_back(
          {pipeline::pipeline_name(answer.schedule.problem, pipeline), pipeline.model.value, pipeline.replica.value});
    }
  }
  for (std::size_t rank = 0; rank < answer.ops.size(); ++rank)
    timeline::add_lane(timeline, fmt::format("device {}", rank),
                       bars_of_rank(answer.ops[rank], first_track, timeline.end));
  return timeline;
}

}  // namespace dovetail::answer
