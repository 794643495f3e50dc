// Predictions for logged runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/measured/measured.h"
#include "answer/plans/prediction.h"

namespace dovetail::answer {

/// Returns the reason, for messages, why a plan that fuses stages is compared without fusion: the trainer of the run
/// does not fuse them.
std::string unfused_reason(const measure::MeasuredRun& run);

/// Checks that at most one of the job, the plan and the logs is standard input.
base::Status check_inputs(const MeasuredRequest& request);

/// Reads the logs of a request, in order, and separates KEY from paths of the form KEY=FILE.
base::Result<std::vector<trainers::LogFile>> read_logs(const MeasuredRequest& request);

/// Predicts the run with the job of the request, otherwise with the configuration at the start of the first log that
/// has one; nullopt without either. A configuration without lengths uses the lengths of `run`. Removes fusion from the
/// plan unless the log is from dovetail train.
///
/// Errors: input that cannot be read, and options that need a missing job. If the configuration in a log cannot be
/// read, it is an Error only if the request has a plan or import options. Otherwise a note reports it, and the result
/// is nullopt.
base::Result<std::optional<PredictionAnswer>> predict_run(const MeasuredRequest& request,
                                                          const std::vector<trainers::LogFile>& logs,
                                                          const measure::MeasuredRun& run, const Callbacks& callbacks);

/// Compares a run with its prediction. Records the job and the efficiencies that were used, and the plan unless the
/// request has one.
MeasuredPrediction compare_with_prediction(const MeasuredRequest& request, const PredictionAnswer& predicted,
                                           const measure::MeasuredRun& run);

}  // namespace dovetail::answer
