#include "cli/fit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/job.h"
#include "cli/plan_words.h"
#include "cli/profile_words.h"
#include "cli/software_json.h"
#include "report/words/software_words.h"
#include "report/words/table.h"
#include "report/words/text.h"

namespace dovetail::cli {
namespace {

using predict::TaskMemory;

const std::string& task_name(const predict::Scenario& scenario, std::size_t task) { return scenario.job.workflow.tasks[task].name; }

std::string_view short_name(predict::Fit fit) { return fit == predict::Fit::fits ? "yes" : fit == predict::Fit::tight ? "tight" : "NO"; }

/// Tasks with devices, the one with the least margin first.
std::vector<std::size_t> by_margin(const std::vector<TaskMemory>& memory) {
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < memory.size(); ++task)
    if (memory[task].usable > 0) tasks.push_back(task);
  std::stable_sort(tasks.begin(), tasks.end(), [&](std::size_t a, std::size_t b) { return memory[a].margin() < memory[b].margin(); });
  return tasks;
}

/// Whether a plan fits, and what plans leave.
std::string verdict_text(const predict::Scenario& scenario, const predict::Estimate& estimate) {
  const predict::Fit fit = estimate.fit();
  const std::string margin = report::margin_words(scenario);
  if (fit == predict::Fit::fits) return fmt::format("It fits: on every device more is left than plans leave, {}.\n\n", margin);
  if (fit == predict::Fit::tight) return fmt::format("It is tight: it fits, and somewhere less is left than plans leave, {}.\n\n", margin);
  return "It does NOT fit.\n\n";
}

std::string memory_table(const predict::Scenario& scenario, const std::vector<TaskMemory>& memories) {
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t task : by_margin(memories)) {
    const TaskMemory& memory = memories[task];
    rows.push_back({task_name(scenario, task), std::to_string(memory.device), gibibytes(memory.needed()), gibibytes(memory.usable),
                    gibibytes(memory.margin()), gibibytes(memory.host), std::string(short_name(memory.fit()))});
  }
  const std::vector<report::Column> columns{
      {"task", report::Align::left}, {"device"}, {"needs"}, {"usable"}, {"margin"}, {"of its node's host"}, {"fits", report::Align::left}};
  return report::render_table(columns, rows);
}

/// What the worst device holds in the task with the least margin.
std::string limit_text(const predict::Scenario& scenario, const std::vector<TaskMemory>& memories) {
  const std::size_t task = by_margin(memories).front();
  const TaskMemory& memory = memories[task];
  std::vector<std::vector<std::string>> rows;
  for (const predict::MemoryPart& part : memory.parts)
    rows.push_back({name_of(part, scenario.job.workflow), gibibytes(part.bytes),
                    percent(static_cast<double>(part.bytes) / static_cast<double>(memory.usable))});
  std::string text = fmt::format("\n{} sets the limit, on device {}:\n", task_name(scenario, task), memory.device);
  text += report::render_table({{"what", report::Align::left}, {"holds"}, {"of the device"}}, rows);
  if (memory.margin() < 0) text += fmt::format("\n{} are missing\n", gibibytes(-memory.margin()));
  return text;
}

std::string host_text(const std::vector<TaskMemory>& memories) {
  for (const TaskMemory& memory : memories)
    if (memory.host > memory.host_memory)
      return fmt::format("\na node's host memory of {} is too small for the {} that leave its devices\n", gibibytes(memory.host_memory),
                         gibibytes(memory.host));
  return "";
}

std::string lengths_text(const predict::Scenario& scenario, const std::vector<planner::GrownLengths>& lengths) {
  if (lengths.size() < 2) return "";
  std::vector<std::vector<std::string>> rows;
  for (const planner::GrownLengths& row : lengths)
    rows.push_back({row.length ? report::counted(*row.length, "token") : "as in the job", fmt::format("{:.2f}", row.factor),
                    seconds_text(row.iteration_seconds), gibibytes(row.margin), task_name(scenario, row.task),
                    std::string(short_name(row.fit))});
  return "\nIf every response is as long:\n" + report::render_table({{"responses", report::Align::left},
                                                                     {"of the mean"},
                                                                     {"iteration"},
                                                                     {"margin"},
                                                                     {"in", report::Align::left},
                                                                     {"fits", report::Align::left}},
                                                                    rows);
}

/// "2 nodes of 8 H100-80", with more where nodes are not alike.
std::string cluster_text(const cluster::Cluster& cluster) {
  std::vector<std::string> groups;
  for (const cluster::NodeGroup& group : cluster.groups)
    groups.push_back(fmt::format("{} of {} {}", report::counted(group.nodes, "node"), group.devices_per_node, group.gpu.name));
  return fmt::format("{}", fmt::join(groups, " and "));
}

const TaskMemory& fullest(const planner::RankedPlan& ranked) {
  return ranked.estimate.memory[planner::fullest_task(ranked.estimate.memory)];
}

std::vector<std::string> plan_row(const predict::Scenario& scenario, const std::string& what, const planner::RankedPlan& ranked) {
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

std::string plans_table(const FittedJob& fitted) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back(plan_row(fitted.scenario, "the fastest", *fitted.fit.fastest()));
  if (fitted.fit.max_margin) rows.push_back(plan_row(fitted.scenario, "the one with the most margin", *fitted.fit.max_margin));
  return report::render_table({{"plan", report::Align::left},
                               {"placement", report::Align::left},
                               {"iteration"},
                               {"fullest device"},
                               {"of its"},
                               {"margin"},
                               {"in", report::Align::left}},
                              rows);
}

std::string min_text(const FittedJob& fitted) {
  if (!fitted.fit.smallest) return "\nOn no cluster of that kind that was tried a plan was found that fits.\n";
  const planner::FittingCluster& smallest = *fitted.fit.smallest;
  const std::size_t task = planner::fullest_task(smallest.ranked.estimate.memory);
  const TaskMemory& memory = fullest(smallest.ranked);
  std::string text =
      fmt::format("\nThe smallest cluster of that kind on which a plan was found that fits: {}; {} an iteration, {} of {} in {}:\n",
                  cluster_text(smallest.cluster), seconds_text(smallest.ranked.estimate.iteration_seconds), gibibytes(memory.needed()),
                  gibibytes(memory.usable), task_name(fitted.scenario, task));
  plan::Job job = fitted.scenario.job;
  job.cluster = smallest.cluster;
  return text + tasks_table(job, smallest.ranked.plan);
}

/// The nearest plan, for its memory.
std::optional<predict::Estimate> nearest_estimate(const FittedJob& fitted) {
  if (!fitted.fit.ranking.nearest) return std::nullopt;
  return predict::estimate(fitted.scenario, fitted.fit.ranking.nearest->plan);
}

Json memory_json(const predict::Scenario& scenario, const std::vector<TaskMemory>& memories) {
  Json tasks = Json::array();
  for (const std::size_t task : by_margin(memories)) {
    const TaskMemory& memory = memories[task];
    Json entry{{"task", task_name(scenario, task)},
               {"device", memory.device},
               {"bytes", memory.needed()},
               {"usable", memory.usable},
               {"host_bytes", memory.host},
               {"host_memory", memory.host_memory},
               {"fits", memory.fits()},
               {"verdict", name_of(memory.fit())},
               {"margin", memory.min_margin},
               {"parts", Json::array()}};
    for (const predict::MemoryPart& part : memory.parts)
      entry["parts"].push_back(Json{{"name", name_of(part, scenario.job.workflow)}, {"bytes", part.bytes}});
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
  Json object{{"format", "dovetail/fit@1"},
              {"job", scenario.job.name},
              {"conventions", scenario.software.conventions.name},
              {"fits", fit != predict::Fit::does_not_fit}};
  add_verdict(fit, object);
  add_efficiency_reason(scenario.software, object);
  return object;
}

/// `job` is the one of its cluster.
Json plan_json(const plan::Job& job, const planner::RankedPlan& ranked) {
  const std::size_t task = planner::fullest_task(ranked.estimate.memory);
  Json object{{"placement", name_of(ranked.placement)},
              {"iteration_seconds", json_seconds(ranked.estimate.iteration_seconds)},
              {"margin_bytes", ranked.estimate.memory[task].margin()},
              {"fullest", job.workflow.tasks[task].name}};
  object["tasks"] = tasks_json(job, ranked.plan);
  return object;
}

Json min_json(const FittedJob& fitted) {
  const planner::FittingCluster& smallest = *fitted.fit.smallest;
  plan::Job job = fitted.scenario.job;
  job.cluster = smallest.cluster;
  return Json{{"cluster", cluster_text(smallest.cluster)},
              {"nodes", cluster::node_count(smallest.cluster)},
              {"devices", cluster::device_count(smallest.cluster)},
              {"plan", plan_json(job, smallest.ranked)}};
}

}  // namespace

std::string to_text(const FittedPlan& fitted) {
  return verdict_text(fitted.scenario, fitted.estimate) + memory_table(fitted.scenario, fitted.estimate.memory) +
         limit_text(fitted.scenario, fitted.estimate.memory) + host_text(fitted.estimate.memory) +
         lengths_text(fitted.scenario, fitted.lengths) + profile_text(fitted.scenario, fitted.plan);
}

Json to_json(const FittedPlan& fitted) {
  Json object = head_json(fitted.scenario, fitted.estimate.fit());
  object["tasks"] = memory_json(fitted.scenario, fitted.estimate.memory);
  object["lengths"] = lengths_json(fitted.scenario, fitted.lengths);
  add_profile(fitted.scenario, fitted.plan, object);
  return object;
}

std::string to_text(const FittedJob& fitted) {
  const plan::Job& job = fitted.scenario.job;
  std::string text = fmt::format("{}: {} on {}, {} samples an iteration; memory as {}\n\n", job.name, job.workflow.name,
                                 report::counted(cluster::device_count(job.cluster), "device"), job.workload.samples(),
                                 fitted.scenario.software.conventions.name);
  if (const planner::RankedPlan* fastest = fitted.fit.fastest(); fastest != nullptr) {
    const FittedPlan plan{fitted.scenario, fastest->plan, fastest->estimate, planner::grow_lengths(fitted.scenario, fastest->plan)};
    text += plans_table(fitted) + "\nThe fastest plan:\n" + tasks_table(job, fastest->plan) + "\n" + to_text(plan);
  } else if (const auto& nearest = fitted.fit.ranking.nearest) {
    const predict::Estimate estimate = *nearest_estimate(fitted);
    text += report::nearest_words(*nearest, fitted.scenario) + ":\n\n" + tasks_table(job, nearest->plan) + "\n";
    text += to_text(FittedPlan{fitted.scenario, nearest->plan, estimate, {}});
  } else {
    text += "no plan fits: " + fitted.fit.impossible + "\n";
  }
  return text + min_text(fitted) + cut_short_text(fitted.fit.ranking);
}

Json to_json(const FittedJob& fitted) {
  const plan::Job& job = fitted.scenario.job;
  const planner::RankedPlan* fastest = fitted.fit.fastest();
  Json object = head_json(fitted.scenario, fitted.fit.fit());
  if (fastest != nullptr) {
    object["tasks"] = memory_json(fitted.scenario, fastest->estimate.memory);
    object["lengths"] = lengths_json(fitted.scenario, planner::grow_lengths(fitted.scenario, fastest->plan));
    object["fastest"] = plan_json(job, *fastest);
    add_profile(fitted.scenario, fastest->plan, object);
  } else if (const auto& nearest = fitted.fit.ranking.nearest) {
    object["tasks"] = memory_json(fitted.scenario, nearest_estimate(fitted)->memory);
    object["nearest"] = Json{{"missing_bytes", nearest->missing},
                             {"task", task_name(fitted.scenario, nearest->task)},
                             {"tasks", tasks_json(job, nearest->plan)}};
  } else {
    object["impossible"] = fitted.fit.impossible;
  }
  if (fitted.fit.max_margin) object["roomiest"] = plan_json(job, *fitted.fit.max_margin);
  if (fitted.fit.smallest) object["smallest_cluster"] = min_json(fitted);
  add_stopped_by(fitted.fit.ranking, object);
  return object;
}

}  // namespace dovetail::cli
