// dovetail fit: whether a plan fits into the memory of its devices, with what margin, and what sets the limit.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "report/table.h"

namespace dovetail::cli {
namespace {

/// Tasks with devices, the one with the least margin first.
std::vector<std::size_t> by_margin(const Prediction& prediction) {
  const std::vector<place::TaskMemory>& memory = prediction.estimate.memory;
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < memory.size(); ++task)
    if (memory[task].usable > 0) tasks.push_back(task);
  std::stable_sort(tasks.begin(), tasks.end(), [&](std::size_t a, std::size_t b) { return memory[a].margin() < memory[b].margin(); });
  return tasks;
}

std::string table_of(const Prediction& prediction) {
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t task : by_margin(prediction)) {
    const place::TaskMemory& memory = prediction.estimate.memory[task];
    rows.push_back({prediction.job.workflow.tasks[task].name, std::to_string(memory.device), gibibytes(memory.needed()),
                    gibibytes(memory.usable), gibibytes(memory.margin()), gibibytes(memory.host), memory.fits() ? "yes" : "NO"});
  }
  const std::vector<report::Column> columns{
      {"task", report::Align::left}, {"device"}, {"needs"}, {"usable"}, {"margin"}, {"of its node's host"}, {"fits", report::Align::left}};
  return report::render_table(columns, rows);
}

/// What the worst device holds in the task with the least margin.
std::string limit_of(const Prediction& prediction) {
  const std::size_t task = by_margin(prediction).front();
  const place::TaskMemory& memory = prediction.estimate.memory[task];
  std::vector<std::vector<std::string>> rows;
  for (const place::MemoryPart& part : memory.parts)
    rows.push_back({part.name, gibibytes(part.bytes), percent(static_cast<double>(part.bytes) / static_cast<double>(memory.usable))});
  std::string text = fmt::format("\n{} sets the limit, on device {}:\n", prediction.job.workflow.tasks[task].name, memory.device);
  text += report::render_table({{"what", report::Align::left}, {"holds"}, {"of the device"}}, rows);
  if (memory.margin() < 0) text += fmt::format("\n{} are missing\n", gibibytes(-memory.margin()));
  return text;
}

std::string host_text(const Prediction& prediction) {
  for (const place::TaskMemory& memory : prediction.estimate.memory)
    if (memory.host > memory.host_memory)
      return fmt::format("\na node's host memory of {} is too small for the {} that leave its devices\n", gibibytes(memory.host_memory),
                         gibibytes(memory.host));
  return "";
}

Json to_json(const Prediction& prediction) {
  Json object{{"format", "dovetail/fit@1"},
              {"job", prediction.job.name},
              {"conventions", prediction.conventions},
              {"fits", prediction.estimate.fits()},
              {"tasks", Json::array()}};
  for (const std::size_t task : by_margin(prediction)) {
    const place::TaskMemory& memory = prediction.estimate.memory[task];
    Json entry{{"task", prediction.job.workflow.tasks[task].name},
               {"device", memory.device},
               {"bytes", memory.needed()},
               {"usable", memory.usable},
               {"host_bytes", memory.host},
               {"host_memory", memory.host_memory},
               {"fits", memory.fits()},
               {"parts", Json::array()}};
    for (const place::MemoryPart& part : memory.parts) entry["parts"].push_back(Json{{"name", part.name}, {"bytes", part.bytes}});
    object["tasks"].push_back(std::move(entry));
  }
  return object;
}

base::Result<int> run(const PlanArguments& arguments) {
  DOVETAIL_TRY(const Prediction prediction, predict(arguments));
  if (arguments.json)
    print_json(to_json(prediction));
  else
    print(table_of(prediction) + limit_of(prediction) + host_text(prediction));
  return prediction.estimate.fits() ? exit_done : exit_infeasible;
}

}  // namespace

void add_fit(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = add_command(program, "fit", "whether a plan fits into memory, with what margin, and what sets the limit",
                                  "  dovetail fit examples/jobs/grpo-8b.yaml --plan examples/jobs/grpo-8b.plan.json");
  add_plan_arguments(*command, *arguments, "the plan, a dovetail/plan@1 file");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace dovetail::cli
