#include "execute/ops_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dovetail::execute {
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
std::vector<Bar> bars_of_rank(const std::vector<ReplayedOp>& ops, const std::vector<std::int32_t>& first_track,
                              Ticks end) {
  std::vector<Bar> bars;
  Ticks now;
  for (const ReplayedOp& op : ops) {
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

/// Adds a track for each pipeline; [model] the first of its own.
std::vector<std::int32_t> add_tracks(timeline::Timeline& timeline, const pipeline::Problem& problem) {
  std::vector<std::int32_t> first;
  for (const pipeline::Pipeline& pipeline : pipeline::pipelines_of(problem)) {
    if (pipeline.replica.value == 0) first.push_back(static_cast<std::int32_t>(timeline.tracks.size()));
    timeline.tracks.push_back(
        {pipeline::pipeline_name(problem, pipeline), pipeline.model.value, pipeline.replica.value});
  }
  return first;
}

}  // namespace

timeline::Timeline measured_timeline(const pipeline::Problem& problem, const std::vector<std::vector<ReplayedOp>>& ops,
                                     std::string title) {
  timeline::Timeline timeline;
  timeline.title = std::move(title);
  timeline.lane_noun = "device";
  timeline.time_unit = base::TimeUnit::ms;
  for (const auto& rank : ops)
    for (const ReplayedOp& op : rank) timeline.end = std::max(timeline.end, op.measured.end);
  const std::vector<std::int32_t> first_track = add_tracks(timeline, problem);
  for (std::size_t rank = 0; rank < ops.size(); ++rank)
    timeline::add_lane(timeline, fmt::format("device {}", rank), bars_of_rank(ops[rank], first_track, timeline.end));
  return timeline;
}

}  // namespace dovetail::execute
