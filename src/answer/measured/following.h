// A log that grows: each step beside what is predicted, as it comes.
#pragma once

#include <functional>
#include <string>

#include "answer/measured/measured.h"

namespace dovetail::answer {

struct FollowOptions {
  double look_every = 1;                        ///< seconds
  std::function<void(const std::string&)> say;  ///< takes a line, of a step or of what is noticed in it
};

/// Follows the one log of `request` until `watch` asks to stop: a line for each step that has ended, with its phases
/// and what is predicted of them, and one more for each phase that takes noticed_times what is predicted, and by more
/// than noticed_part of the iteration. First steps are warm-up, of which nothing is noticed; nor is there of those with
/// a validation or a checkpoint. The answer is that to the log as far as it came, with how often each phase was
/// noticed; nothing of a log without a step. An Error of the job, of the plan, and of what the log says where no line
/// is to blame: a line that is broken is told of and passed over. REQUIRES: one log, no standard input.
base::Result<std::optional<MeasuredAnswer>> follow(const MeasuredRequest& request, const FollowOptions& options,
                                                   const Watch& watch);

}  // namespace dovetail::answer
