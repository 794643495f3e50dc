// Writing a measured run as dovetail/measurement@1, which `dovetail calibrate` reads (measurement_file.h).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "measure/measured_comparison.h"

namespace dovetail::measure {

/// What the file says besides the run's times.
struct MeasurementNames {
  std::string set;  ///< of the efficiencies that are to be fitted
  std::string row;
  std::string source;
  std::string job;  ///< paths, from the folder of the file
  std::string plan;
  std::string start = {};  ///< what the fit starts from: a set's name, or a path from that folder; empty: `assumed`
  std::vector<std::vector<std::string>> fused = {};  ///< tasks that ran as one phase
  std::string job_text = {};   ///< in place of the path of the job: what such a file has, in one line of JSON
  std::string plan_text = {};  ///< likewise
};

/// One row: the iteration, and the phases that are measured as plans have them and take a millisecond or more. The mean
/// length of the responses goes with it where the log says it and the job says another (by more than 5%), with the
/// job's cap, or the longest one found. An Error with a message only where the log does not time the iteration.
base::Result<std::string> measurement_to_yaml(const MeasurementNames& names, const MeasuredRun& run,
                                              const MeasuredComparison& comparison, const plan::Job& job);
base::Result<std::string> measurement_to_json(const MeasurementNames& names, const MeasuredRun& run,
                                              const MeasuredComparison& comparison, const plan::Job& job);

}  // namespace dovetail::measure
