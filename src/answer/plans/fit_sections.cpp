#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "answer/plans/fit.h"
#include "answer/plans/plan_tables.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/plan_words.h"
#include "answer/words/profile_words.h"
#include "answer/words/software_words.h"
#include "answer/words/text.h"

namespace dovetail::answer {
namespace {

using predict::TaskMemory;

const std::string& task_name(const predict::Scenario& scenario, std::size_t task) {
  return scenario.job.workflow.tasks[task].name;
}

/// Verdict on a plan, with the required margin.
std::string verdict_text(const predict::Scenario& scenario, const predict::Estimate& estimate) {
  const predict::Fit fit = estimate.fit();
  const std::string margin = margin_words(scenario);
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
  const std::vector<Column> columns{{"task", Align::left},   {"device"},           {"needs"}, {"usable"}, {"margin"},
                                    {"host memory of node"}, {"fits", Align::left}};
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
  return "\nIf all responses had this length:\n" + Table{{{"responses", Align::left},
                                                          {"x mean"},
                                                          {"iteration"},
                                                          {"margin"},
                                                          {"during", Align::left},
                                                          {"fits", Align::left}},
                                                         rows};
}

const TaskMemory& fullest(const planner::RankedPlan& ranked) {
  return ranked.estimate.memory[planner::fullest_task(ranked.estimate.memory)];
}

std::vector<std::string> plan_row(const predict::Scenario& scenario, const std::string& what,
                                  const planner::RankedPlan& ranked) {
  const std::size_t task = planner::fullest_task(ranked.estimate.memory);
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
  if (!fit.smallest) return "\nNo plan that fits was found on any cluster of this kind.\n";
  const planner::FittingCluster& smallest = *fit.smallest;
  const std::size_t task = planner::fullest_task(smallest.ranked.estimate.memory);
  const TaskMemory& memory = fullest(smallest.ranked);
  std::string text =
      fmt::format("\nSmallest cluster of this kind with a plan that fits: {}; {} per iteration, {} of {} in {}:\n",
                  cluster_words(smallest.cluster), seconds_text(smallest.ranked.estimate.iteration_seconds),
                  gibibytes(memory.needed()), gibibytes(memory.usable), task_name(scenario, task));
  plan::Job job = scenario.job;
  job.cluster = smallest.cluster;
  return text + tasks_table(job, smallest.ranked.plan);
}

/// Sections about the plan itself.
Sections plan_sections(const predict::Scenario& scenario, const FittedPlan& fitted) {
  return verdict_text(scenario, fitted.estimate) + memory_table(scenario, fitted.estimate.memory) +
         limit_text(scenario, fitted.estimate.memory) + host_text(fitted.estimate.memory) +
         lengths_text(scenario, fitted.lengths) + profile_text(scenario, fitted.plan);
}

}  // namespace

std::string cluster_words(const cluster::Cluster& cluster) {
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
    all += nearest_words(*fit.ranking.nearest, scenario) + ":\n\n" + tasks_table(job, answer.plan->plan) + "\n";
  if (answer.plan) all += plan_sections(scenario, *answer.plan);
  return all + min_text(scenario, fit) + cut_short_text(fit.ranking) + not_modelled_text(job.not_modelled);
}

}  // namespace dovetail::answer
