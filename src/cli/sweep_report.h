// A sweep in words, as JSON and as CSV.
#pragma once

#include <string>

#include "answer/question/json.h"
#include "cli/output.h"
#include "study/sweep.h"

namespace dovetail::cli {

struct SweptPlan {
  const predict::Scenario& scenario;
  std::string placement;  ///< of the plan; empty: another one at each point
  study::Sweep sweep;
};

/// "ppo-7b, co-located: prompts an iteration".
std::string title_of(const SweptPlan& swept);
/// A line a point with a bar of its iteration, what is best, and where the plan stops fitting.
std::string to_text(const SweptPlan& swept);
/// A dovetail/sweep@1 object.
answer::Json to_json(const SweptPlan& swept);
/// A header and a line a point; empty cells where there is nothing.
std::string to_csv(const SweptPlan& swept);

}  // namespace dovetail::cli
