#include "report/run/training_sections.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "answer/runs/phase_table.h"
#include "pipeline/schedule/evaluate.h"
#include "report/overlay/overlay.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::report {
namespace {

/// "Training phase actor_train + critic_train": models are called as their tasks.
std::string heading(const records::TrainingPhase& phase) {
  std::string title = "Training phase";
  std::string_view between = " ";
  for (const pipeline::Model& model : phase.planned.problem.models) {
    title += between;
    title += model.name;
    between = " + ";
  }
  return title;
}

}  // namespace

void add_training_phase(Page& page, const records::TrainingPhase& phase) {
  const std::string title = heading(phase);
  timeline::Timeline planned =
      timeline::schedule_timeline(phase.planned.problem, pipeline::evaluate(phase.planned), title);
  planned.time_unit = phase.trace.time_unit;
  Page overlay = overlay_page({"the schedule as predicted", std::move(planned)},
                              {"what the ranks did in the last run", phase.trace}, title);
  Chart chart = std::get<Chart>(std::move(overlay.sections.front()));
  chart.title = title;
  page.sections.emplace_back(std::move(chart));
  Table table = answer::phase_table(phase);
  table.title = title + ", predicted and measured";
  table.note = "Measured times of ops are medians of the latest runs of the phase.";
  page.sections.emplace_back(std::move(table));
}

}  // namespace dovetail::report
