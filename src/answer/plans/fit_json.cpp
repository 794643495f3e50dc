#include <utility>
#include <vector>

#include "answer/plans/fit.h"
#include "answer/plans/plan_json.h"
#include "answer/question/json.h"
#include "planner/advice/changes.h"

namespace dovetail::answer {
namespace {

using predict::TaskMemory;

const std::string& task_name(const predict::Scenario& scenario, std::size_t task) {
  return scenario.job.workflow.tasks[task].name;
}

Json memory_json(const predict::Scenario& scenario, const std::vector<TaskMemory>& memories) {
  Json tasks = Json::array();
  for (const std::size_t task : tasks_by_margin(memories)) {
    const TaskMemory& memory = memories[task];
    Json entry{{"task", task_name(scenario, task)},
               {"device", memory.device},
               {"bytes", memory.needed()},
               {"usable", memory.usable},
               {"host_bytes", memory.host},
               {"host_memory", memory.host_memory},
               {"fits", memory.fits()},
               {"verdict", name_of(memory.fit())},
               {"min_margin", memory.min_margin},
               {"parts", parts_json(scenario.job.workflow, memory)}};
    tasks.push_back(std::move(entry));
  }
  return tasks;
}

Json lengths_json(const predict::Scenario& scenario, const std::vector<planner::GrownLengths>& lengths) {
  Json rows = Json::array();
  for (const planner::GrownLengths& row : lengths) {
    Json entry{{"factor", json_ratio(row.factor)},      {"fits", row.fit != predict::Fit::does_not_fit},
               {"verdict", name_of(row.fit)},           {"margin_bytes", row.margin},
               {"task", task_name(scenario, row.task)}, {"iteration_seconds", json_seconds(row.iteration_seconds)}};
    if (row.length) entry["length"] = *row.length;
    rows.push_back(std::move(entry));
  }
  return rows;
}

Json head_json(const predict::Scenario& scenario, predict::Fit fit) {
  Json object{{"format", "dovetail/fit@2"},
              {"job", scenario.job.name},
              {"conventions", scenario.software.conventions.name},
              {"fits", fit != predict::Fit::does_not_fit}};
  add_verdict(fit, object);
  add_efficiency_reason(scenario.software, object);
  add_not_modelled(scenario.job.not_modelled, object);
  return object;
}

/// `job` has the cluster of the plan.
Json plan_json(const plan::Job& job, const planner::RankedPlan& ranked) {
  const std::size_t task = planner::fullest_task(ranked.estimate.memory);
  Json object{{"placement", name_of(ranked.placement)},
              {"iteration_seconds", json_seconds(ranked.estimate.iteration_seconds)},
              {"margin_bytes", ranked.estimate.memory[task].margin()},
              {"fullest", job.workflow.tasks[task].name}};
  add_plan(job, ranked.plan, object);
  return object;
}

Json min_json(const plan::Job& asked, const planner::FittingCluster& smallest) {
  plan::Job job = asked;
  job.cluster = smallest.cluster;
  return Json{{"cluster", cluster_words(smallest.cluster)},
              {"nodes", cluster::node_count(smallest.cluster)},
              {"devices", cluster::device_count(smallest.cluster)},
              {"plan", plan_json(job, smallest.ranked)}};
}

void add_job(const predict::Scenario& scenario, const planner::JobFit& fit, Json& object) {
  if (const planner::RankedPlan* const fastest = fit.fastest())
    object["fastest"] = plan_json(scenario.job, *fastest);
  else if (fit.ranking.nearest)
    object["nearest"] = nearest_json(scenario.job, *fit.ranking.nearest);
  else
    object["impossible"] = fit.impossible;
  if (fit.max_margin) object["roomiest"] = plan_json(scenario.job, *fit.max_margin);
  if (fit.smallest) object["smallest_cluster"] = min_json(scenario.job, *fit.smallest);
  add_stopped_by(fit.ranking, object);
}

}  // namespace

std::string to_json(const FitAnswer& answer) {
  Json object = head_json(answer.scenario, answer.fit());
  if (answer.plan) {
    object["tasks"] = memory_json(answer.scenario, answer.plan->estimate.memory);
    if (!answer.plan->lengths.empty()) object["lengths"] = lengths_json(answer.scenario, answer.plan->lengths);
    add_profile(answer.scenario, answer.plan->plan, object);
  }
  if (answer.job) add_job(answer.scenario, *answer.job, object);
  return json_text(object);
}

}  // namespace dovetail::answer
