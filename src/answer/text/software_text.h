// Describes the basis of predictions: efficiencies, layer profiles, and the memory margin of plans.
#pragma once

#include <string>
#include <vector>

#include "planner/rank/rank.h"
#include "predict/closed_form/profile_use.h"

namespace dovetail::answer {

/// Explains the choice of efficiencies: "h100/megatron-vllm was fitted to GPU H100-80 with training megatron".
std::string efficiency_text(const predict::Software& software);

/// Memory that plans must leave free on a device: "5.2% of usable memory (error of past megatron predictions)".
std::string margin_text(const predict::Scenario& scenario);

/// Three lines: efficiencies with their mean error, why they were chosen, and the required margin.
std::string assumptions_text(const predict::Scenario& scenario);

/// Closest plan of a job that no plan fits: "no plan fits; the closest one found is short by 1.00 GiB in actor_train".
std::string nearest_text(const planner::NearestPlan& nearest, const predict::Scenario& scenario);

/// Line that names the layer profile and, per source of seconds, the tasks; empty if nothing is measured.
std::string profile_text(const plan::Job& job, const std::string& profile,
                         const std::vector<predict::ProfileUse>& uses);
/// The same for the tasks of `plan`.
std::string profile_text(const predict::Scenario& scenario, const plan::Plan& plan);

}  // namespace dovetail::answer
