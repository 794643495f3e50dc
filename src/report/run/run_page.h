// A run of `dovetail train` as a page of the HTML report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/measured/measured.h"
#include "records/training_phases.h"
#include "report/page/page.h"
#include "report/run/run_curves.h"

namespace dovetail::report {

struct RunReport {
  std::string name;      ///< of the job
  std::string subtitle;  ///< "A run of dovetail train: ppo on 1 device."
  RunFigures figures;
  std::optional<answer::MeasuredAnswer> measured;   ///< its times beside their prediction, which it has
  std::vector<records::TrainingPhase> phases = {};  ///< that its ranks run by schedules
};

/// How the rewards went, and how long it took; curves; the timeline, where the time went, what the plan predicted;
/// each training phase of several ranks beside its schedule.
Page run_page(const RunReport& report);

}  // namespace dovetail::report
