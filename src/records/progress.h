// One-line summaries of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "control/run/run_sink.h"

namespace dovetail::records {

/// Summarizes a completed iteration or evaluation in one line of a log: "12/60  reward 0.83  KL 1.2  actor loss 0.0123
/// critic loss 0.31  1234 tokens/s  2.1 s". `iterations` is the total of the run. REQUIRES: the first of `metrics` is
/// the iteration.
std::string summary_of(const control::Metrics& metrics, std::int64_t iterations);

/// Summarizes the current state of a run: "13/60  actor_train 3/4  reward 0.83  KL 1.2  actor loss 0.0123  1234
/// tokens/s  4 min left". `before` holds the metrics of the previous iteration (empty: no iteration is done).
/// `seconds_left` is negative if unknown. The line has at most `columns` characters. Fields that do not fit are
/// omitted: first the speed, then the losses, KL divergence, reward, time left, phase and iteration.
std::string progress_of(const control::RunProgress& progress, const control::Metrics& before, double seconds_left,
                        std::size_t columns);

}  // namespace dovetail::records
