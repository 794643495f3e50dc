// Reasons why solvers refuse a problem.
#pragma once

#include <string>
#include <variant>

#include "fuse/solution/solution.h"

namespace dovetail::test {

/// Returns the reason why `solve` refuses `problem`; "it answered" if it does not.
inline std::string why_not(fuse::Answer (*solve)(const pipeline::Problem&, const fuse::SolveOptions&),
                           const pipeline::Problem& problem, const fuse::SolveOptions& options = {}) {
  const fuse::Answer answer = solve(problem, options);
  const auto* not_applicable = std::get_if<fuse::NotApplicable>(&answer);
  return not_applicable ? not_applicable->why : "it answered";
}

}  // namespace dovetail::test
