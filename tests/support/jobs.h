// Jobs and plans for tests.
#pragma once

#include <string>

#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "planner/rank/rank.h"

namespace dovetail::test {

/// GRPO of Qwen3-0.6B on one node of eight H100s, with fixed lengths. The weights of generation may lag by `steps`
/// iterations.
inline plan::Job grpo_job(int steps = 0) {
  const std::string text =
      "format: dovetail/job@1\nname: small\nalgorithm: {name: grpo, reward: rule, reward_seconds: 0.001}\n"
      "models: {actor: qwen3-0.6b}\n"
      "workload: {prompts: 32, samples_per_prompt: 8, mini_batches: 2, prompt_length: 128, response_length: 512, "
      "steps_off_policy: " +
      std::to_string(steps) + "}\ncluster: {nodes: 1, gpus_per_node: 8, gpu: H100, price: 2}\n";
  return plan::parse_job(text, "small.yaml").value();
}

/// PPO with an actor Qwen3-4B and a reward model Qwen3-1.7B. `cluster` has the entries of the job's cluster; `more` is
/// appended to the job's text.
inline plan::Job ppo_job(const std::string& cluster, const std::string& more = "") {
  const std::string text =
      "format: dovetail/job@1\nname: small\nalgorithm: ppo\nmodels: {actor: qwen3-4b, reward: qwen3-1.7b}\n"
      "workload: {prompts: 64, mini_batches: 2, prompt_length: 128, response_length: {p50: 200, p90: 600, cap: 1024}}\n"
      "cluster: {" +
      cluster + "}\n" + more;
  return plan::parse_job(text, "small.yaml").value();
}

/// DPO of Qwen3-0.6B on one H100, with fixed lengths.
inline plan::Job dpo_job() {
  return plan::parse_job(
             "format: dovetail/job@1\nmodels: {actor: qwen3-0.6b}\nalgorithm: dpo\n"
             "workload: {prompts: 32, prompt_length: 128, response_length: 512}\n"
             "cluster: {nodes: 1, gpus_per_node: 1, gpu: H100}\n",
             "small.yaml")
      .value();
}

/// All tasks on sixteen devices: generation and inference with one replica per device, training in pipelines of four
/// stages (actor) or two (other models).
inline plan::Plan pipelined_on_16(const plan::Job& job) {
  plan::Plan plan;
  plan.placement = "custom";
  for (const workflow::Task& task : job.workflow.tasks) {
    plan::TaskPlan& planned = plan.tasks.emplace_back();
    planned.mesh = {0, 16};
    planned.layout.data = 16;
    planned.offload.weights = task.kind == workflow::TaskKind::infer;
    if (task.kind == workflow::TaskKind::generate) planned.engine.memory_utilization = 0.5;
    if (task.kind != workflow::TaskKind::generate) planned.micro_batching.tokens = 8192;
    if (task.kind != workflow::TaskKind::train) continue;
    planned.layout.pipeline = task.role == "actor" ? 4 : 2;
    planned.layout.data = 16 / planned.layout.pipeline;
    planned.layout.zero = 1;
    planned.layout.recomputation = llm::Recomputation::full;
  }
  return plan;
}

/// Options with which a search takes little time.
inline planner::RankOptions quick_options() {
  planner::RankOptions options;
  options.search.chains = 2;
  options.search.iterations = 4000;
  return options;
}

inline std::string task_text(const std::string& name, const std::string& devices, const std::string& more) {
  return "  {\"task\": \"" + name + "\", \"devices\": \"" + devices + "\", " + more + "}";
}

/// All tasks on eight devices, in one layout. `of_train` and `of_reference` are appended to the settings of the
/// training and reference tasks.
inline plan::Plan co_located(const plan::Job& job, const std::string& of_train = "",
                             const std::string& of_reference = "") {
  const std::string layout = "\"layout\": {\"dp\": 8}, \"micro_batch\": {\"sequences\": 4}";
  const std::string text =
      "{\"format\": \"dovetail/plan@1\", \"tasks\": [\n" +
      task_text("actor_generate", "0-7", "\"layout\": {\"dp\": 8}, \"engine\": {\"memory_utilization\": 0.5}") + ",\n" +
      task_text("actor_infer", "0-7", layout) + ",\n" + task_text("reference_infer", "0-7", layout + of_reference) +
      ",\n" + task_text("actor_train", "0-7", layout + of_train) + "]}";
  return plan::parse_plan(text, "plan.json", job).value();
}

/// Generation on the first four of eight devices, all other tasks on the last four.
inline plan::Plan separated(const plan::Job& job) {
  const std::string layout = "\"layout\": {\"dp\": 4}, \"micro_batch\": {\"sequences\": 4}";
  const std::string text =
      "{\"format\": \"dovetail/plan@1\", \"tasks\": [\n" +
      task_text("actor_generate", "0-3", "\"layout\": {\"dp\": 4}") + ",\n" + task_text("actor_infer", "4-7", layout) +
      ",\n" + task_text("reference_infer", "4-7", layout) + ",\n" + task_text("actor_train", "4-7", layout) + "]}";
  return plan::parse_plan(text, "plan.json", job).value();
}

}  // namespace dovetail::test
