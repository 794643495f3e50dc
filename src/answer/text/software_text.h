// Describes the basis of predictions: efficiencies, layer profiles, and the memory margin of plans.
#pragma once

#include <string>
#include <vector>

#include "planner/rank/rank.h"
#include "predict/closed_form/profile_use.h"

namespace dovetail::answer {

/// Explains the choice of efficiencies: "h100/megatron-vllm was fitted to megatron training on GPU H100-80".
std::string efficiency_text(const predict::Software& software);

/// Describes the required memory margin: "5.2% of usable memory (error of past megatron predictions)".
std::string margin_text(const predict::Scenario& scenario);

/// Returns three lines: the efficiencies with their mean error and the memory model, why the efficiencies were chosen,
/// and the required memory margin.
std::string assumptions_text(const predict::Scenario& scenario);

/// Describes the closest plan of a job for which no plan fits, or for which no plan keeps the required margin: "no plan
/// fits; the closest one found is short by 1.00 GiB in actor_train, including the required margin".
std::string nearest_text(const planner::NearestPlan& nearest, const predict::Scenario& scenario);

/// Returns a line with the name of the layer profile, and the tasks grouped by the source of their times; empty if
/// `uses` is empty.
std::string profile_text(const plan::Job& job, const std::string& profile,
                         const std::vector<predict::ProfileUse>& uses);
/// Returns profile_text for the tasks of `plan`.
std::string profile_text(const predict::Scenario& scenario, const plan::Plan& plan);

}  // namespace dovetail::answer
