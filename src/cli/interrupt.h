// Ctrl-C: a request to stop with the best answer so far.
#pragma once

#include <optional>

#include "parallel/cancellation.h"

namespace dovetail::cli {

/// From now on the first SIGINT or SIGTERM requests the cancellation that this returns; a second one ends the program at once.
const parallel::Cancellation& stop_on_interrupt();

/// When what a search for schedules is part of has to stop. It stops by itself where its time is over, so that its iterations repeat it;
/// only what has not ended soon after is cut short.
inline std::optional<double> with_patience(std::optional<double> time_limit_seconds) {
  constexpr double patience_seconds = 0.25;
  return time_limit_seconds ? std::optional(*time_limit_seconds + patience_seconds) : std::nullopt;
}

}  // namespace dovetail::cli
