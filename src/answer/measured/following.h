// Follows a growing log and compares each step with the prediction.
#pragma once

#include <functional>
#include <string>

#include "answer/measured/measured.h"

namespace dovetail::answer {

struct FollowOptions {
  double look_every = 1;                        ///< in seconds
  std::function<void(const std::string&)> say;  ///< receives a line about a step, or about an unusual phase
};

/// Follows the single log of `request` until `watch` asks to stop.
///
/// Reports a line per finished step, with the measured and predicted seconds of its phases. Another line reports each
/// phase that takes at least noticed_times its prediction and exceeds it by more than noticed_part of the iteration.
/// Warm-up steps and steps with a validation or checkpoint are exempt.
///
/// Returns the answer for the log as far as it was read, with the number of unusual steps per phase; nullopt if the log
/// has no step. Errors: the job, the plan, or the log as a whole. A malformed line is reported and skipped. REQUIRES:
/// exactly one log, and not standard input.
base::Result<std::optional<MeasuredAnswer>> follow(const MeasuredRequest& request, const FollowOptions& options,
                                                   const Watch& watch);

}  // namespace dovetail::answer
