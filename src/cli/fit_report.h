// Whether a job or a plan of it fits, in words and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "planner/advice/fit.h"

namespace dovetail::cli {

/// A plan with what it holds, also as responses grow.
struct FittedPlan {
  const predict::Scenario& scenario;
  const plan::Plan& plan;
  const predict::Estimate& estimate;
  std::vector<planner::GrownLengths> lengths;
};

/// What each task needs, what sets the limit, and how far responses may grow.
std::string to_text(const FittedPlan& fitted);
/// A dovetail/fit@1 object.
Json to_json(const FittedPlan& fitted);

/// A job's answer, with the fastest plan that fits, or the nearest, as a FittedPlan.
struct FittedJob {
  const predict::Scenario& scenario;
  const planner::JobFit& fit;
};

std::string to_text(const FittedJob& fitted);
/// A dovetail/fit@1 object: that of the fastest plan, or of the nearest, with more.
Json to_json(const FittedJob& fitted);

}  // namespace dovetail::cli
