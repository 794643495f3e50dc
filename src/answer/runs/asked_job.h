// A job, and the plan of it that a question is about where one is given.
#pragma once

#include <optional>

#include "answer/plans/job_input.h"

namespace dovetail::answer {

struct AskedJob {
  predict::Scenario scenario;
  std::optional<plan::Plan> plan;
};

/// Reads both. `stop` may stop the work on the job, and must outlive it.
base::Result<AskedJob> read_asked(const Input& job, const std::optional<Input>& plan,
                                  const parallel::Cancellation& stop, const Watch& watch);

}  // namespace dovetail::answer
