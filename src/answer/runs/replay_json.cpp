#include "answer/question/json.h"
#include "answer/runs/replay.h"

namespace dovetail::answer {
namespace {

Json json_of(base::Ticks ns) { return json_simulated(base::seconds_of_ticks(ns)); }

Json latest_json(const ReplayAnswer& answer) {
  const execute::ReplayedOp& latest = answer.figures.latest;
  return {{"op", pipeline::describe(answer.schedule.problem, latest.label)},
          {"rank", latest.rank},
          {"planned_end_seconds", json_of(latest.planned.end)},
          {"measured_end_seconds", json_of(latest.measured.end)}};
}

}  // namespace

std::string to_json(const ReplayAnswer& answer) {
  const pipeline::Schedule& source = answer.source.schedule;
  const execute::ReplayFigures& figures = answer.figures;
  std::size_t ops = 0;
  for (const auto& rank : answer.ops) ops += rank.size();
  const base::TimeUnit unit = source.problem.time_unit;
  return json_text(Json{{"format", "dovetail/replay@1"},
                        {"source", answer.source.name},
                        {"kind", base::enum_name(answer.source.kind)},
                        {"transport", base::enum_name(answer.transport)},
                        {"ranks", answer.ops.size()},
                        {"ops", ops},
                        {"time_unit", base::name_of(unit)},
                        {"schedule_makespan", json_time(makespan_of(answer), unit)},
                        {"seconds_per_unit", answer.ns_per_tick * static_cast<double>(base::ticks_per(unit)) * 1e-9},
                        {"planned_seconds", json_of(figures.planned)},
                        {"measured_seconds", json_of(figures.measured)},
                        {"difference", json_ratio(figures.ratio() - 1)},
                        {"executor_share", json_ratio(figures.executor_share())},
                        {"overlap", Json{{"planned_seconds", json_of(figures.planned_overlap)},
                                         {"measured_seconds", json_of(figures.measured_overlap)}}},
                        {"latest", latest_json(answer)}});
}

}  // namespace dovetail::answer
