// What the folder of a run tells: a report while the run goes on, files when it ends.
#pragma once

#include <string>

#include "base/result.h"
#include "report/run/run_page.h"

namespace dovetail::cli {

/// Whether there are the rows of a run in the folder.
bool is_run_folder(const std::string& folder);

/// What the run in the folder has told so far, beside what its plan predicts; where that cannot be said, a note tells
/// why. An Error where its rows cannot be read, or where there are none.
base::Result<report::RunReport> read_run(const std::string& folder);

/// Writes, from the rows that the run has told, and the job and the plan in its folder:
///
///   timeline.json     the times of its iterations, a Chrome trace
///   measurement.yaml  a dovetail/measurement@1 file, for `dovetail calibrate`
///   curves.svg        what it is judged by, as a picture
///   report.html       all of it as a page
///
/// Nothing is written of a run without an iteration, nor a measurement where nothing could be predicted.
base::Status write_run_results(const std::string& folder);

}  // namespace dovetail::cli
