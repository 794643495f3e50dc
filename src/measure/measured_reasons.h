// Why a measured phase may differ from what is predicted: what experience says of each kind, and what the log and the
// plan say themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/measured_comparison.h"

namespace dovetail::measure {

/// What the reasons are looked for in.
struct ReasonScenario {
  const MeasuredRun& run;
  const plan::Job& job;
  const plan::Plan& plan;
};

/// The reasons for a phase (REQUIRES: it has a kind), the likeliest first: those that the log shows (lengths that the
/// job does not say, steps that spread, a refit within), then those that are usual.
std::vector<std::string> reasons_of(const ReasonScenario& scenario, const MeasuredAgainst& phase);

/// The reasons for an iteration whose phases take so many seconds together, measured and predicted: what they differ
/// by, what overlaps on one side, time in no phase.
std::vector<std::string> iteration_reasons(const ReasonScenario& scenario, const MeasuredAgainst& iteration,
                                           double measured_in_phases, double predicted_in_phases);

}  // namespace dovetail::measure
