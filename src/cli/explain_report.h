// Why a plan is not the best, or does not fit, in words and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "answer/question/json.h"
#include "cli/output.h"
#include "planner/advice/explain.h"

namespace dovetail::cli {

struct ExplainedPlan {
  const predict::Scenario& scenario;
  const plan::Plan& plan;
  planner::Explanation explanation;
  std::size_t shown = 10;  ///< changes at most
};

/// What sets the limit, what can be changed, and where time is lost against the best plan.
std::string to_text(const ExplainedPlan& explained);
/// A dovetail/explain@1 object.
answer::Json to_json(const ExplainedPlan& explained);

}  // namespace dovetail::cli
