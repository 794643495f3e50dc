#include "answer/plans/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/software_text.h"
#include "answer/text/text.h"
#include "planner/advice/changes.h"

namespace dovetail::answer {
namespace {

FittedPlan fitted_plan(const predict::Scenario& scenario, const plan::Plan& plan) {
  return {plan, predict::estimate(scenario, plan), planner::grow_lengths(scenario, plan)};
}

/// The plan of an answer about a job: the fastest that fits, or the closest one.
std::optional<FittedPlan> plan_of(const predict::Scenario& scenario, const planner::JobFit& fit) {
  if (const planner::RankedPlan* const fastest = fit.fastest())
    return FittedPlan{fastest->plan, fastest->estimate, planner::grow_lengths(scenario, fastest->plan)};
  if (const auto& nearest = fit.ranking.nearest)
    return FittedPlan{nearest->plan, predict::estimate(scenario, nearest->plan), {}};
  return std::nullopt;
}

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
  add_fit(fit, object);
  add_efficiency_reason(scenario.software, object);
  add_not_modelled(scenario.job.not_modelled, object);
  return object;
}

/// `job` has the cluster of the plan.
Json plan_json(const plan::Job& job, const planner::RankedPlan& ranked) {
  const std::size_t task = planner::min_margin_task(ranked.estimate.memory);
  Json object{{"placement", name_of(ranked.placement)},
              {"iteration_seconds", json_seconds(ranked.estimate.iteration_seconds)},
              {"margin_bytes", ranked.estimate.memory[task].margin()},
              {"fullest", job.workflow.tasks[task].name}};
  add_plan(job, ranked.plan, object);
  return object;
}

Json min_json(const plan::Job& original, const planner::FittingCluster& smallest) {
  plan::Job job = original;
  job.cluster = smallest.cluster;
  return Json{{"cluster", cluster_text(smallest.cluster)},
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

/// Verdict on a plan, with the required margin.
std::string fit_text(const predict::Scenario& scenario, const predict::Estimate& estimate) {
  const predict::Fit fit = estimate.fit();
  const std::string margin = margin_text(scenario);
  if (fit == predict::Fit::fits) return fmt::format("Fits. Every device keeps the required margin of {}.\n\n", margin);
  if (fit == predict::Fit::tight)
    return fmt::format("Tight. The plan fits, but some device keeps less than the required margin of {}.\n\n", margin);
  return "Does NOT fit.\n\n";
}

Sections memory_table(const predict::Scenario& scenario, const std::vector<TaskMemory>& memories) {
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t task : tasks_by_margin(memories)) {
    const TaskMemory& memory = memories[task];
    rows.push_back({task_name(scenario, task), std::to_string(memory.device), gibibytes(memory.needed()),
                    gibibytes(memory.usable), gibibytes(memory.margin()), gibibytes(memory.host),
                    std::string(short_name(memory.fit()))});
  }
  const std::vector<Column> columns{{"task", Align::left}, {"device"},           {"needs"}, {"usable"}, {"margin"},
                                    {"host memory used"},  {"fits", Align::left}};
  return Table{columns, rows};
}

/// Memory of the worst device in the task with the smallest margin.
Sections limit_text(const predict::Scenario& scenario, const std::vector<TaskMemory>& memories) {
  const std::size_t task = tasks_by_margin(memories).front();
  const TaskMemory& memory = memories[task];
  Sections text = fmt::format("\n{} sets the limit, on device {}:\n", task_name(scenario, task), memory.device);
  text += parts_table(scenario.job.workflow, memory);
  if (memory.margin() < 0) text += fmt::format("\nshort by {}\n", gibibytes(-memory.margin()));
  return text;
}

std::string host_text(const std::vector<TaskMemory>& memories) {
  for (const TaskMemory& memory : memories)
    if (memory.host > memory.host_memory)
      return fmt::format("\na node has {} of host memory, but offloading needs {}\n", gibibytes(memory.host_memory),
                         gibibytes(memory.host));
  return "";
}

Sections lengths_text(const predict::Scenario& scenario, const std::vector<planner::GrownLengths>& lengths) {
  if (lengths.size() < 2) return "";
  std::vector<std::vector<std::string>> rows;
  for (const planner::GrownLengths& row : lengths)
    rows.push_back({row.length ? counted(*row.length, "token") : "as in the job", fmt::format("{:.2f}", row.factor),
                    seconds_text(row.iteration_seconds), gibibytes(row.margin), task_name(scenario, row.task),
                    std::string(short_name(row.fit))});
  Sections text = "\nFit by response length (a number of tokens: all responses have this length):\n";
  text += Table{{{"responses", Align::left},
                 {"x mean"},
                 {"iteration"},
                 {"margin"},
                 {"during", Align::left},
                 {"fits", Align::left}},
                rows};
  text += fmt::format("\niteration times: {}\n", efficiency_text(scenario.software));
  return text;
}

const TaskMemory& fullest(const planner::RankedPlan& ranked) {
  return ranked.estimate.memory[planner::min_margin_task(ranked.estimate.memory)];
}

std::vector<std::string> plan_row(const predict::Scenario& scenario, const std::string& what,
                                  const planner::RankedPlan& ranked) {
  const std::size_t task = planner::min_margin_task(ranked.estimate.memory);
  const TaskMemory& memory = ranked.estimate.memory[task];
  return {what,
          std::string(name_of(ranked.placement)),
          seconds_text(ranked.estimate.iteration_seconds),
          gibibytes(memory.needed()),
          gibibytes(memory.usable),
          gibibytes(memory.margin()),
          task_name(scenario, task)};
}

Sections plans_table(const predict::Scenario& scenario, const planner::JobFit& fit) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back(plan_row(scenario, "fastest", *fit.fastest()));
  if (fit.max_margin) rows.push_back(plan_row(scenario, "largest margin", *fit.max_margin));
  return Table{{{"plan", Align::left},
                {"placement", Align::left},
                {"iteration"},
                {"peak memory"},
                {"usable"},
                {"margin"},
                {"during", Align::left}},
               rows};
}

Sections min_text(const predict::Scenario& scenario, const planner::JobFit& fit) {
  if (!fit.smallest) return "\nNo plan that keeps the margin was found on any cluster of this kind.\n";
  const planner::FittingCluster& smallest = *fit.smallest;
  const std::size_t task = planner::min_margin_task(smallest.ranked.estimate.memory);
  const TaskMemory& memory = fullest(smallest.ranked);
  std::string text = fmt::format(
      "\nSmallest cluster of this kind with a plan that keeps the margin: {}; {} per iteration, {} of {} used in "
      "{}:\n",
      cluster_text(smallest.cluster), seconds_text(smallest.ranked.estimate.iteration_seconds),
      gibibytes(memory.needed()), gibibytes(memory.usable), task_name(scenario, task));
  plan::Job job = scenario.job;
  job.cluster = smallest.cluster;
  return text + tasks_table(job, smallest.ranked.plan);
}

/// Sections about the plan itself.
Sections plan_sections(const predict::Scenario& scenario, const FittedPlan& fitted) {
  return fit_text(scenario, fitted.estimate) + memory_table(scenario, fitted.estimate.memory) +
         limit_text(scenario, fitted.estimate.memory) + host_text(fitted.estimate.memory) +
         lengths_text(scenario, fitted.lengths) + profile_text(scenario, fitted.plan);
}

}  // namespace

std::vector<std::size_t> tasks_by_margin(const std::vector<predict::TaskMemory>& memory) {
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < memory.size(); ++task)
    if (memory[task].usable > 0) tasks.push_back(task);
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](std::size_t a, std::size_t b) { return memory[a].margin() < memory[b].margin(); });
  return tasks;
}

base::Result<FitAnswer> answer_to(const FitRequest& request, const Callbacks& callbacks) {
  const parallel::Cancellation stop(callbacks.cancellation, request.search.budget.time_limit);
  DOVETAIL_TRY(LoadedJob loaded, load_job(request.job, request.plan, callbacks, &stop));
  DOVETAIL_CHECK(notify_read(callbacks));
  FitAnswer answer{std::move(loaded.scenario), std::nullopt, std::nullopt};
  if (loaded.plan) {
    answer.plan = fitted_plan(answer.scenario, *loaded.plan);
  } else {
    DOVETAIL_TRY(const planner::RankOptions options,
                 rank_options(request.search, answer.scenario.job.placements, callbacks));
    auto fit = planner::fit_job(answer.scenario, options);
    if (!fit.ok()) return at_input(std::move(fit).error(), request.job);
    answer.job = std::move(fit).value();
    answer.plan = plan_of(answer.scenario, *answer.job);
  }
  const bool fits = answer.fit() != predict::Fit::does_not_fit;
  const Outcome outcome = fits ? Outcome::done : Outcome::infeasible;
  answer.outcome = !answer.job ? outcome : unless_interrupted(callbacks, outcome);
  answer.scenario.cancellation = nullptr;
  return answer;
}

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

std::string cluster_text(const cluster::Cluster& cluster) {
  std::vector<std::string> groups;
  for (const cluster::NodeGroup& group : cluster.groups)
    groups.push_back(fmt::format("{} of {} {}", counted(group.nodes, "node"), group.devices_per_node, group.gpu.name));
  return fmt::format("{}", fmt::join(groups, " and "));
}

Sections sections(const FitAnswer& answer) {
  const predict::Scenario& scenario = answer.scenario;
  if (!answer.job)
    return Sections(origin_line(scenario.job)) + plan_sections(scenario, *answer.plan) +
           not_modelled_text(scenario.job.not_modelled);
  const plan::Job& job = scenario.job;
  const planner::JobFit& fit = *answer.job;
  Sections all = fmt::format("{}; memory model: {}\n\n", job_line(job), scenario.software.conventions.name);
  if (!answer.plan)
    all += "no plan fits: " + fit.impossible + "\n";
  else if (fit.fastest() != nullptr)
    all += plans_table(scenario, fit) + "\nFastest plan:\n" + tasks_table(job, answer.plan->plan) + "\n";
  else
    all += nearest_text(*fit.ranking.nearest, scenario) + ":\n\n" + tasks_table(job, answer.plan->plan) + "\n";
  if (answer.plan) all += plan_sections(scenario, *answer.plan);
  return all + min_text(scenario, fit) + cut_short_text(fit.ranking) + not_modelled_text(job.not_modelled);
}

}  // namespace dovetail::answer
