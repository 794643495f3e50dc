#include "answer/plans/plan_output.h"

#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/text.h"
#include "plan/plan_file.h"

namespace dovetail::answer {
void add_plan(const plan::Job& job, const plan::Plan& plan, Json& object) {
  object["plan"] = json_parsed(plan::plan_to_json(plan, job));
  object["words"] = Json::array();
  for (const TaskText& row : task_texts(job, plan))
    object["words"].push_back(
        Json{{"task", row.task}, {"devices", row.devices}, {"layout", row.layout}, {"settings", row.settings}});
}

Json nearest_json(const plan::Job& job, const planner::NearestPlan& nearest) {
  Json object{{"missing_bytes", nearest.missing}, {"task", job.workflow.tasks[nearest.task].name}};
  add_plan(job, nearest.plan, object);
  return object;
}

void add_stopped_by(const planner::Ranking& ranking, Json& object) {
  if (ranking.cut_short) object["stopped_by"] = *ranking.cut_short == parallel::EndedBy::time ? "time" : "interrupt";
}

void add_efficiency_reason(const predict::Software& software, Json& object) {
  const predict::EfficiencyChoice& choice = software.choice;
  object["efficiency_reason"] =
      Json{{"reason", name_of(choice.reason)}, {"gpus", choice.gpus}, {"training", choice.training}};
}

void add_not_modelled(const std::vector<plan::NotModelled>& settings, Json& object) {
  if (!settings.empty()) object["not_modelled"] = json_parsed(plan::not_modelled_json(settings));
}

void add_fit(predict::Fit fit, Json& object) { object["verdict"] = name_of(fit); }

Json parts_json(const workflow::Workflow& workflow, const predict::TaskMemory& memory) {
  Json parts = Json::array();
  for (const predict::MemoryPart& part : memory.parts)
    parts.push_back(Json{{"name", name_of(part, workflow)}, {"bytes", part.bytes}});
  return parts;
}

Json fusion_json(const plan::Job& job, const predict::Estimate& estimate) {
  Json object;
  if (const auto& fused = estimate.inter_stage)
    object["inter_stage"] = Json{{"threshold", fused->threshold},
                                 {"instances", fused->instances},
                                 {"keepers", fused->kept_instances},
                                 {"moved_samples", json_ratio(fused->moved)},
                                 {"moved_by", fused->prefills ? "prefill" : "keys and values"},
                                 {"migration_seconds", json_seconds(fused->migration)},
                                 {"set_up_seconds", json_seconds(fused->set_up)},
                                 {"seconds", json_seconds(fused->seconds())},
                                 {"apart_seconds", json_seconds(fused->apart)}};
  if (const auto& fused = estimate.intra_stage)
    object["intra_stage"] =
        Json{{"tasks", Json::array({job.workflow.tasks[fused->pair[0]].name, job.workflow.tasks[fused->pair[1]].name})},
             {"seconds", json_seconds(fused->seconds())},
             {"apart_seconds", json_seconds(fused->apart)},
             {"schedule_seconds", json_seconds(fused->schedule_seconds)},
             {"bound_seconds", json_seconds(fused->bound)}};
  return object;
}

Json profile_json(const plan::Job& job, const std::string& profile, const std::vector<predict::ProfileUse>& uses) {
  Json object{{"name", clean_text(profile)}, {"tasks", Json::array()}};
  for (const predict::ProfileUse& use : uses)
    object["tasks"].push_back(Json{{"task", job.workflow.tasks[use.task].name},
                                   {"part", use.decode ? "decode" : "passes"},
                                   {"seconds_from", name_of(use.from)}});
  return object;
}

void add_profile(const predict::Scenario& scenario, const plan::Plan& plan, Json& object) {
  const std::vector<predict::ProfileUse> uses = predict::profile_uses(scenario, plan);
  if (!uses.empty()) object["profile"] = profile_json(scenario.job, scenario.software.profile.name, uses);
}

Table tasks_table(const plan::Job& job, const plan::Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const TaskText& row : task_texts(job, plan)) rows.push_back({row.task, row.devices, row.layout, row.settings});
  return {{{"task", Align::left}, {"devices", Align::left}, {"layout", Align::left}, {"settings", Align::left}}, rows};
}

Table parts_table(const workflow::Workflow& workflow, const predict::TaskMemory& memory) {
  std::vector<std::vector<std::string>> rows;
  for (const predict::MemoryPart& part : memory.parts)
    rows.push_back({name_of(part, workflow), gibibytes(part.bytes),
                    percent(static_cast<double>(part.bytes) / static_cast<double>(memory.usable))});
  return {{{"part", Align::left}, {"memory"}, {"share of usable"}}, rows};
}

std::string cut_short_text(const planner::Ranking& ranking) {
  if (!ranking.cut_short) return "";
  const std::string_view why = *ranking.cut_short == parallel::EndedBy::time ? "Time limit reached" : "Interrupted";
  return fmt::format("{} before the search finished. A longer search may find a better result.\n", why);
}

}  // namespace dovetail::answer
