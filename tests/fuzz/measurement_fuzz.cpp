// Parses measurements. Checks that they can be calibrated, and that rows that count have predicted phases.
#include "fuzz.h"
#include "measure/calibrate.h"
#include "measure/measurement_file.h"

namespace measure = dovetail::measure;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A path in a nonexistent folder, so that files named by rows are not found.
  const auto read = measure::parse_measurements(dovetail::fuzz::as_text(data, size), "/nowhere/input.yaml");
  if (!read.ok()) {
    DOVETAIL_ASSERT(!read.error().message.empty());
    return 0;
  }
  double weight = 0;
  for (const measure::Measurement& row : read->rows) {
    DOVETAIL_ASSERT(!dovetail::plan::find_fault(row.plan, row.job).has_value());
    weight += row.weight;
    const dovetail::cost::CalibrationRow calibrated = measure::calibration_row(row);
    DOVETAIL_ASSERT(calibrated.measured.size() >= 1 + measure::phase_kinds.size());
    // Off-policy iterations are simulated by the thousand.
    if (row.job.workload.steps_off_policy > 10) continue;
    const auto predicted = calibrated.predicted({read->start, {read->spread.start}});
    DOVETAIL_ASSERT(predicted.size() == calibrated.measured.size() && predicted[0] >= 0);
  }
  DOVETAIL_ASSERT(weight > 0);
  return 0;
}
