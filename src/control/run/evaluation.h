// How a run does on the validation data.
#pragma once

#include "base/result.h"
#include "control/run/run_sink.h"
#include "control/run/tasks.h"

namespace dovetail::control {

/// Of the first `evaluate.samples` items: mean reward, lengths and share of cut-off responses of a response to each,
/// sampled at `evaluate.temperature`; cross entropy of texts; loss, accuracy and margin of pairs. `iteration` first.
/// Draws are those of an epoch that no training has.
base::Result<Figures> evaluate(TaskContext& context);

/// What the best checkpoint is told by; greater is better. Nothing where the settings want none.
std::optional<double> merit_of(const Figures& evaluation, BestBy best);

}  // namespace dovetail::control
