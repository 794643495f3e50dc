#include "execute/replay_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"
#include "pipeline/program/rank_ops.h"

namespace dovetail::execute {
namespace {

using base::Ticks;

/// A time at which an op of a model begins (+1) or ends (-1).
struct Change {
  Ticks time;
  int more = 0;
  base::ModelId model;

  friend auto operator<=>(const Change&, const Change&) = default;
};

/// Returns the total time during which at least two models have running ops.
Ticks overlap_of(std::vector<Change> changes) {
  std::sort(changes.begin(), changes.end());
  std::map<base::ModelId, int> running;
  std::size_t models = 0;
  Ticks overlap;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (models > 1) overlap += changes[i].time - changes[i - 1].time;
    int& count = running[changes[i].model];
    if (count == 0) ++models;
    count += changes[i].more;
    if (count == 0) --models;
  }
  return overlap;
}

void add(std::vector<Change>& changes, base::ModelId model, const Span& span) {
  if (span.begin == span.end) return;
  changes.push_back({span.begin, 1, model});
  changes.push_back({span.end, -1, model});
}

double seconds(Ticks time) { return base::seconds_of_ticks(time); }

}  // namespace

std::vector<std::vector<ReplayedOp>> replayed_ops(const pipeline::Schedule& schedule,
                                                  const pipeline::Placement& placement,
                                                  const std::vector<pipeline::Program>& programs,
                                                  const ReplayTimes& times) {
  const std::vector<pipeline::RankWork> work = pipeline::work_of_ranks(schedule, placement);
  std::vector<std::vector<ReplayedOp>> ops(work.size());
  for (std::size_t rank = 0; rank < work.size(); ++rank) {
    const std::vector<pipeline::Instruction>& code = programs[rank].code;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].code != pipeline::Code::run) continue;
      const pipeline::RankOp& op = work[rank].ops[ops[rank].size()];
      DOVETAIL_ASSERT(op.label.kind == code[i].op && op.label.microbatch == code[i].microbatch);
      ops[rank].push_back({op.label, static_cast<int>(rank), {op.start, op.end}, times[rank][i]});
    }
  }
  return ops;
}

double ReplayFigures::ratio() const { return seconds(measured) / seconds(planned); }

double ReplayFigures::executor_share() const { return seconds(measured - planned) / seconds(measured); }

ReplayFigures figures_of(const std::vector<std::vector<ReplayedOp>>& ops) {
  ReplayFigures figures;
  const ReplayedOp* latest = nullptr;
  std::vector<Change> planned;
  std::vector<Change> measured;
  for (const std::vector<ReplayedOp>& rank : ops)
    for (const ReplayedOp& op : rank) {
      figures.planned = std::max(figures.planned, op.planned.end);
      figures.measured = std::max(figures.measured, op.measured.end);
      add(planned, op.label.model, op.planned);
      add(measured, op.label.model, op.measured);
      if (latest == nullptr || op.lateness() > latest->lateness()) latest = &op;
    }
  DOVETAIL_ASSERT(latest != nullptr);
  figures.latest = *latest;
  figures.planned_overlap = overlap_of(std::move(planned));
  figures.measured_overlap = overlap_of(std::move(measured));
  return figures;
}

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

/// Returns the ops of a rank and the idle time between them.
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

/// Adds a track for each pipeline. Returns the first track of each model: [model].
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
