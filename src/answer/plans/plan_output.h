// Tables and JSON members that several answers about plans share.
#pragma once

#include <string>
#include <vector>

#include "answer/question/json.h"
#include "answer/question/section.h"
#include "planner/rank/rank.h"
#include "predict/closed_form/profile_use.h"

namespace dovetail::answer {

/// Adds `plan`, a dovetail/plan@1 object, and `words`, a description of each task.
void add_plan(const plan::Job& job, const plan::Plan& plan, Json& object);

/// Returns the plan that comes closest to fitting, with the missing memory, for a job for which no plan fits.
Json nearest_json(const plan::Job& job, const planner::NearestPlan& nearest);

/// Adds `stopped_by` if the ranking was cut short.
void add_stopped_by(const planner::Ranking& ranking, Json& object);

/// Adds `efficiency_reason`: the chosen efficiencies and why.
void add_efficiency_reason(const predict::Software& software, Json& object);

/// Adds `not_modelled`: settings that predictions ignore, if there are any.
void add_not_modelled(const std::vector<plan::NotModelled>& settings, Json& object);

/// Adds `verdict`: fits, tight or does not fit.
void add_fit(predict::Fit fit, Json& object);

/// Memory of a device in a task, by part.
Json parts_json(const workflow::Workflow& workflow, const predict::TaskMemory& memory);

/// Fusions of the plan and their gains.
Json fusion_json(const plan::Job& job, const predict::Estimate& estimate);

/// Tasks whose seconds come from measured layers.
Json profile_json(const plan::Job& job, const std::string& profile, const std::vector<predict::ProfileUse>& uses);
/// Adds `profile` for a plan if it has any such tasks.
void add_profile(const predict::Scenario& scenario, const plan::Plan& plan, Json& object);

/// Devices, layout and settings of each task.
Table tasks_table(const plan::Job& job, const plan::Plan& plan);

/// Memory of a device in a task, by part.
Table parts_table(const workflow::Workflow& workflow, const predict::TaskMemory& memory);

/// Note that the search was cut short; otherwise empty.
std::string cut_short_text(const planner::Ranking& ranking);

}  // namespace dovetail::answer
