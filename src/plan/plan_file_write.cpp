#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json_object.h"
#include "base/utf8.h"
#include "plan/plan_file.h"
#include "plan/plan_file_words.h"

namespace dovetail::plan {
namespace {

using base::json_string;
using base::JsonObject;

std::string_view name_of(llm::Recomputation recomputation) {
  return std::find_if(recomputation_words.begin(), recomputation_words.end(),
                      [recomputation](const auto& word) { return word.second == recomputation; })
      ->first;
}

std::string text_of(const llm::Layout& layout) {
  const llm::Layout usual;
  JsonObject text;
  for (const auto& [name, member] : degree_words)
    if (layout.*member != usual.*member || name == "dp") text.add(name, std::to_string(layout.*member));
  if (layout.zero != usual.zero) text.add("zero", std::to_string(layout.zero));
  if (layout.sequence_parallel) text.add("sequence_parallel", "true");
  if (layout.recomputation != usual.recomputation) text.add("recompute", json_string(name_of(layout.recomputation)));
  if (!layout.stage_layers.empty()) text.add("stage_layers", fmt::format("[{}]", fmt::join(layout.stage_layers, ", ")));
  return text.text();
}

std::string text_of(const MicroBatching& micro_batching) {
  JsonObject text;
  if (micro_batching.sequences > 0) text.add("sequences", fmt::format("{}", micro_batching.sequences));
  if (micro_batching.tokens > 0) text.add("tokens", fmt::format("{}", micro_batching.tokens));
  if (micro_batching.count > 0) text.add("count", std::to_string(micro_batching.count));
  return text.text();
}

JsonObject object_of(const Engine& engine) {
  const Engine usual;
  JsonObject text;
  if (engine.memory_utilization != usual.memory_utilization) text.add("memory_utilization", fmt::format("{}", engine.memory_utilization));
  if (engine.max_num_seqs != usual.max_num_seqs) text.add("max_num_seqs", std::to_string(engine.max_num_seqs));
  if (engine.max_num_batched_tokens != usual.max_num_batched_tokens)
    text.add("max_num_batched_tokens", std::to_string(engine.max_num_batched_tokens));
  if (!engine.cuda_graphs) text.add("cuda_graphs", "false");
  if (!engine.own_weights) text.add("own_weights", "false");
  return text;
}

std::vector<std::string> words_of(const Offload& offload) {
  std::vector<std::string> words;
  for (const auto& [name, member] : offload_words)
    if (offload.*member) words.push_back(json_string(name));
  return words;
}

std::string text_of(const TaskPlan& plan, const workflow::Task& task) {
  JsonObject text;
  text.add("task", json_string(task.name));
  const int last = plan.mesh.first + plan.mesh.count - 1;
  text.add("devices", json_string(plan.mesh.count == 1 ? std::to_string(last) : fmt::format("{}-{}", plan.mesh.first, last)));
  text.add("layout", text_of(plan.layout));
  if (task.kind != workflow::TaskKind::generate) text.add("micro_batch", text_of(plan.micro_batching));
  if (const JsonObject engine = object_of(plan.engine); task.kind == workflow::TaskKind::generate && !engine.empty())
    text.add("engine", engine.text());
  if (const auto words = words_of(plan.offload); !words.empty()) text.add("offload", fmt::format("[{}]", fmt::join(words, ", ")));
  return text.text();
}

}  // namespace

std::string plan_to_json(const Plan& plan, const Job& job) {
  std::vector<std::string> tasks;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task)
    if (job.workflow.tasks[task].kind != workflow::TaskKind::rule)
      tasks.push_back("  " + text_of(plan.tasks[task], job.workflow.tasks[task]));
  return fmt::format("{{\"format\": {}, \"job\": {}, \"placement\": {}, \"tasks\": [\n{}\n]}}\n", json_string(plan_format),
                     json_string(job.name), json_string(plan.placement), fmt::join(tasks, ",\n"));
}

}  // namespace dovetail::plan
