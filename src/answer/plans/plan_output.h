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

/// Returns the plan that comes closest to keeping the margin, the task that lacks the most memory, and the bytes that
/// it lacks.
Json nearest_json(const plan::Job& job, const planner::NearestPlan& nearest);

/// Adds `stopped_by`, "time" or "interrupt", if the ranking was cut short.
void add_stopped_by(const planner::Ranking& ranking, Json& object);

/// Adds `efficiency_reason`: why the efficiencies were chosen, the cluster's GPU types, and the memory conventions.
void add_efficiency_reason(const predict::Software& software, Json& object);

/// Adds `not_modelled`: settings that predictions ignore, if there are any.
void add_not_modelled(const std::vector<plan::NotModelled>& settings, Json& object);

/// Adds `verdict`: fits, tight or does not fit.
void add_fit(predict::Fit fit, Json& object);

/// Returns the memory of a task on the device that `memory` describes, by part.
Json parts_json(const workflow::Workflow& workflow, const predict::TaskMemory& memory);

/// Returns the fusions of the plan, each with the seconds that its tasks take fused and separately.
Json fusion_json(const plan::Job& job, const predict::Estimate& estimate);

/// Returns the name of the layer profile and, for each task with a model, the source of its times: the profile within
/// or beyond its range, or the roofline model. Generation has two entries: decode steps and other passes.
Json profile_json(const plan::Job& job, const std::string& profile, const std::vector<predict::ProfileUse>& uses);
/// Adds `profile`, the profile_json of the plan, if the job has a layer profile.
void add_profile(const predict::Scenario& scenario, const plan::Plan& plan, Json& object);

/// Returns a table of the devices, layout and settings of each task.
Table tasks_table(const plan::Job& job, const plan::Plan& plan);

/// Returns a table of the memory of a task on the device that `memory` describes, by part.
Table parts_table(const workflow::Workflow& workflow, const predict::TaskMemory& memory);

/// Returns a line which says why the search was cut short; empty if it was not.
std::string cut_short_text(const planner::Ranking& ranking);

}  // namespace dovetail::answer
