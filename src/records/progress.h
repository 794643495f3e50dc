// A run in one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "control/run/run_sink.h"

namespace dovetail::records {

/// "12/60  reward 0.83  KL 1.2  actor loss 0.0123  critic loss 0.31  1234 tokens/s  2.1 s": an iteration's end or an
/// evaluation, for a log. REQUIRES: `figures` begin with the iteration.
std::string summary_of(const control::Figures& figures, std::int64_t iterations);

/// "13/60  actor_train 3/4  reward 0.83  KL 1.2  actor loss 0.0123  1234 tokens/s  4 min left": where a run is now,
/// with the figures of the iteration before (empty: none is done). `seconds_left`: below 0 where it is not known. At
/// most `columns` characters: what has no room is left out whole, first the speed, then losses, divergence, reward, the
/// time left, the phase.
std::string progress_of(const control::RunProgress& progress, const control::Figures& before, double seconds_left,
                        std::size_t columns);

}  // namespace dovetail::records
