#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "answer/runs/replay.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/text.h"

namespace dovetail::answer {
namespace {

std::string seconds_words(base::Ticks ns) { return seconds_text(base::seconds_of_ticks(ns)); }

/// Time scale of the replay relative to the source.
std::string speed_text(const ReplayAnswer& answer) {
  if (answer.source.schedule.problem.time_unit == base::TimeUnit::tick)
    return fmt::format("1 tick = {}", seconds_text(answer.ns_per_tick * 1e-9));
  if (answer.ns_per_tick == 1) return "original durations";
  return fmt::format("{:.3g} times the original durations", answer.ns_per_tick);
}

std::string heading(const ReplayAnswer& answer) {
  std::size_t ops = 0;
  for (const auto& rank : answer.ops) ops += rank.size();
  std::string text = fmt::format("{}: {} as {}, {}; {}\n", answer.source.name,
                                 counted(static_cast<std::int64_t>(answer.ops.size()), "rank"),
                                 answer.transport == ReplayTransport::threads ? "threads" : "processes over Gloo",
                                 counted(static_cast<std::int64_t>(ops), "op"), speed_text(answer));
  const base::Ticks given = makespan_of(answer);
  const auto scaled = static_cast<std::int64_t>(static_cast<double>(given.count()) * answer.ns_per_tick);
  // Differences from rounding to nanoseconds are not reported.
  if (scaled > answer.figures.planned.count() + answer.figures.planned.count() / 1'000'000)
    text += fmt::format("the schedule takes {}; without its idle waits, the same order takes {}\n",
                        seconds_words(base::Ticks(scaled)), seconds_words(answer.figures.planned));
  return text;
}

}  // namespace

Sections sections(const ReplayAnswer& answer) {
  const execute::ReplayFigures& figures = answer.figures;
  Table table{{{"", Align::left}, {"schedule"}, {"measured"}, {"difference"}}, {}};
  table.rows.push_back({"makespan", seconds_words(figures.planned), seconds_words(figures.measured),
                        fmt::format("{:+.2f}%", 100 * (figures.ratio() - 1))});
  if (answer.schedule.problem.models.size() > 1)
    table.rows.push_back({"overlap of models", seconds_words(figures.planned_overlap),
                          seconds_words(figures.measured_overlap),
                          difference_text(base::seconds_of_ticks(figures.measured_overlap),
                                          base::seconds_of_ticks(figures.planned_overlap))});
  const execute::ReplayedOp& latest = figures.latest;
  return heading(answer) + Sections("\n") + Sections(std::move(table)) +
         Sections(fmt::format(
             "\nexecutor share of the critical path: {}\nlatest op: {} on rank {}, {} later than scheduled\n",
             percent(figures.executor_share()), pipeline::describe(answer.schedule.problem, latest.label), latest.rank,
             seconds_words(latest.lateness())));
}

}  // namespace dovetail::answer
