// Reads and writes reports about a run in its folder, during the run and at its end.
#pragma once

#include <string>

#include "base/result.h"
#include "report/run/run_page.h"

namespace dovetail::cli {

/// Whether `folder` has the metrics file of a run.
bool is_run_folder(const std::string& folder);

/// Reads the metrics of a run so far and compares them with the prediction of its plan. If the prediction fails, prints
/// a note with the reason. Returns an Error if the rows are missing or cannot be read.
base::Result<report::RunReport> read_run(const std::string& folder);

/// Writes these files from the metrics rows, the job and the plan in a run's folder:
///
/// timeline.json     iteration times as a Chrome trace
/// measurement.yaml  a dovetail/measurement@1 file, for `dovetail calibrate`
/// curves.svg        curves of the run's quality metrics
/// report.html       all of the above as a page
///
/// Writes nothing if the run has no iteration yet, and no measurement if there is no prediction.
base::Status write_run_results(const std::string& folder);

}  // namespace dovetail::cli
