// Predictions for logged runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/measured/measured.h"
#include "answer/plans/prediction.h"

namespace dovetail::answer {

/// Reason why a plan that fuses stages is compared without fusion.
std::string unfused_reason(const measure::MeasuredRun& run);

/// Checks that at most one input is standard input.
base::Status check_inputs(const MeasuredRequest& request);

/// Reads the logs of a request.
base::Result<std::vector<trainers::LogFile>> read_logs(const MeasuredRequest& request);

/// Predicts the run with the job of the request, otherwise with the configuration at the start of the first log that
/// has one; nullopt without either. A configuration without lengths uses those of `run`. Errors: input that cannot be
/// read, and options that need a missing job. An unreadable configuration in a log is only a note, unless the request
/// has options for it.
base::Result<std::optional<PredictionAnswer>> predict_run(const MeasuredRequest& request,
                                                          const std::vector<trainers::LogFile>& logs,
                                                          const measure::MeasuredRun& run, const Callbacks& callbacks);

/// Compares a run with its prediction.
MeasuredPrediction compare_with_prediction(const MeasuredRequest& request, const PredictionAnswer& predicted,
                                           const measure::MeasuredRun& run);

}  // namespace dovetail::answer
