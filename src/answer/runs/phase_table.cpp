#include "answer/runs/phase_table.h"

#include <string>
#include <utility>

#include "answer/text/figures.h"
#include "fuse/solve.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::answer {
namespace {

std::string schedule_seconds_text(base::Ticks ns) { return seconds_text(base::seconds_of_ticks(ns)); }

base::Ticks makespan_of(const pipeline::Schedule& schedule) { return pipeline::evaluate(schedule).evaluation.makespan; }

}  // namespace

double FusionGain::saved() const { return 1 - base::seconds_of_ticks(fused) / base::seconds_of_ticks(serial); }

std::optional<FusionGain> fusion_gain(const pipeline::Schedule& schedule) {
  if (schedule.problem.models.size() < 2) return std::nullopt;
  const base::Result<fuse::Solved> serial = fuse::solve(schedule.problem, "1f1b");
  if (!serial.ok()) return std::nullopt;
  return FusionGain{makespan_of(schedule), serial->solution.evaluation.makespan};
}

Table phase_table(const records::TrainingPhase& phase) {
  Table table{{{"", Align::left}, {"predicted"}, {"measured"}}, {}};
  table.rows.push_back({"makespan from op times", schedule_seconds_text(makespan_of(phase.planned)),
                        schedule_seconds_text(makespan_of(phase.measured))});
  table.rows.push_back({"makespan of the last run", "", schedule_seconds_text(phase.trace.end)});
  const auto planned = fusion_gain(phase.planned);
  const auto measured = fusion_gain(phase.measured);
  if (planned && measured) {
    table.rows.push_back(
        {"models in sequence", schedule_seconds_text(planned->serial), schedule_seconds_text(measured->serial)});
    table.rows.push_back({"saved by fusion", percent(planned->saved()), percent(measured->saved())});
  }
  return table;
}

}  // namespace dovetail::answer
