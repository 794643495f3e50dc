// Reads the records in the folder of a run, during the run or later, and writes the run's results there at its end.
#pragma once

#include <string>

#include "base/result.h"
#include "report/run/run_page.h"

namespace dovetail::cli {

/// Whether `folder` has the metrics file of a run.
bool is_run_folder(const std::string& folder);

/// Reads the records of a run so far and compares its times with the prediction of its plan. If the comparison or the
/// reading of samples fails, prints a note with the reason. Returns an Error if the metrics have no rows, or if they,
/// the evaluations or the training phases cannot be read.
base::Result<report::RunReport> read_run(const std::string& folder);

/// Writes these files into a run's folder, from the records, the job and the plan there:
///
/// timeline.json     iteration times as a Chrome trace
/// measurement.yaml  a dovetail/measurement@1 file, for `dovetail calibrate`
/// curves.svg        curves of the run's quality metrics
/// report.html       page with curves, samples, timeline and comparison with the prediction
///
/// Writes nothing if the run has not finished an iteration yet. Leaves out measurement.yaml if the comparison with the
/// prediction fails, and curves.svg if no metric can be drawn.
base::Status write_run_results(const std::string& folder);

}  // namespace dovetail::cli
