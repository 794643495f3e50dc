// A run of `dovetail train` as a page of the HTML report.
#pragma once

#include <optional>
#include <string>

#include "answer/measured/measured.h"
#include "report/page/page.h"
#include "report/run/run_curves.h"

namespace dovetail::report {

struct RunReport {
  std::string name;      ///< of the job
  std::string subtitle;  ///< "A run of dovetail train: ppo on 1 device."
  RunFigures figures;
  std::optional<answer::MeasuredAnswer> measured;  ///< its times beside their prediction, which it has
};

/// How the rewards went, and how long it took; curves; the timeline, where the time went, and what the plan predicted.
Page run_page(const RunReport& report);

}  // namespace dovetail::report
