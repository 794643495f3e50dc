// Why a measured phase may differ from what is predicted: what experience says of each kind, and what the log and the plan say themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "place/measurement/measured_comparison.h"

namespace dovetail::place {

/// What the reasons are looked for in.
struct ReasonGround {
  const MeasuredRun& run;
  const plan::Job& job;
  const plan::Plan& plan;
};

/// The reasons for a phase of this kind ("generation", ..., "iteration"), the likeliest first: those that the log shows (lengths that the
/// job does not say, steps that spread, a refit within), then those that are usual.
std::vector<std::string> reasons_of(const ReasonGround& ground, const MeasuredAgainst& phase, std::string_view kind);

}  // namespace dovetail::place
