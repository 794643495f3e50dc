// Ranked plans of a job in words and as JSON.
#pragma once

#include <string>

#include "answer/question/json.h"
#include "cli/output.h"
#include "planner/rank/rank.h"

namespace dovetail::cli {

/// A job's ranking, with the inputs that would change it.
struct RankedJob {
  const predict::Scenario& scenario;
  planner::Ranking ranking;
  std::vector<planner::Flip> flips;
  bool too_many_samples = false;  ///< to play any of the plans, as was asked for
};

/// The table of plans, the best one's tasks, and what decides.
std::string to_text(const RankedJob& ranked);
/// A dovetail/ranking@1 object.
answer::Json to_json(const RankedJob& ranked);

}  // namespace dovetail::cli
