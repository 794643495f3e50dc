// What the JSON of several answers has of plans.
#pragma once

#include <string>
#include <vector>

#include "answer/question/json.h"
#include "planner/rank/rank.h"
#include "predict/closed_form/profile_use.h"

namespace dovetail::answer {

/// A plan as it can be given back: `plan`, a dovetail/plan@1 object, and `words`, what it says of each task, as people
/// read it.
void add_plan(const plan::Job& job, const plan::Plan& plan, Json& object);

/// How near a job comes to fitting of which no plan fits: the plan, and what is missing.
Json nearest_json(const plan::Job& job, const planner::NearestPlan& nearest);

/// `stopped_by`, where the ranking was cut short.
void add_stopped_by(const planner::Ranking& ranking, Json& object);

/// `efficiency_reason`: which efficiencies were chosen, and why.
void add_efficiency_reason(const predict::Software& software, Json& object);

/// `not_modelled`: what no figure counts, where there is anything.
void add_not_modelled(const std::vector<plan::NotModelled>& settings, Json& object);

/// `verdict`: fits, tight or does not fit.
void add_verdict(predict::Fit fit, Json& object);

/// What a device holds in a task.
Json parts_json(const workflow::Workflow& workflow, const predict::TaskMemory& memory);

/// What of an iteration is fused, and what that gains.
Json fusion_json(const plan::Job& job, const predict::Estimate& estimate);

/// Which seconds are from measured layers.
Json profile_json(const plan::Job& job, const std::string& profile, const std::vector<predict::ProfileUse>& uses);
/// `profile`: the same of a plan, where any are.
void add_profile(const predict::Scenario& scenario, const plan::Plan& plan, Json& object);

}  // namespace dovetail::answer
