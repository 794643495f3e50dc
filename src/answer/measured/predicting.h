// What is predicted of a run that was logged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/measured/measured.h"
#include "answer/plans/prediction.h"

namespace dovetail::answer {

/// Why a plan that fuses stages is compared without that.
std::string parted_reason(const measure::MeasuredRun& run);

/// What the request has to do with standard input.
base::Status check_inputs(const MeasuredRequest& request);

/// The logs of a request.
base::Result<std::vector<trainers::LogFile>> read_logs(const MeasuredRequest& request);

/// The prediction of what ran: of the request's job, else of the first log with the configuration at its head; nothing
/// where there is none. A configuration that says no lengths has those of `run`. Errors of what is read, and of what
/// the request says where there is no job for it; a log's configuration that cannot be read is only told of, unless
/// something was said beside it.
base::Result<std::optional<PredictionAnswer>> predict_run(const MeasuredRequest& request,
                                                          const std::vector<trainers::LogFile>& logs,
                                                          const measure::MeasuredRun& run, const Watch& watch);

/// A run beside it.
MeasuredPrediction beside(const MeasuredRequest& request, const PredictionAnswer& predicted,
                          const measure::MeasuredRun& run);

}  // namespace dovetail::answer
