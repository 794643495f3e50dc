// Parses a plan for each of several jobs. Checks that it is valid, reads back to the same after writing, and can be
// timed.
#include <array>
#include <string>

#include "fuzz.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "plan/timing.h"

namespace plan = dovetail::plan;

namespace {

/// Jobs for the plans of the corpus: four models on one node; experts, a rule and no critic on several nodes; unequal
/// nodes.
const std::array<plan::Job, 3>& jobs() {
  const auto job = [](const std::string& rest) {
    return plan::parse_job(
               "{format: dovetail/job@1, workload: {prompts: 64, prompt_length: 100, response_length: 500}, " + rest +
                   "}",
               "job")
        .value();
  };
  static const std::array<plan::Job, 3> all{job("algorithm: ppo, models: {actor: llama-2-7b, reward: opt-1.3b}, "
                                                "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}"),
                                            job("algorithm: {name: grpo, reward: rule}, models: {actor: mixtral-8x7b}, "
                                                "cluster: {nodes: 4, gpus_per_node: 8, gpu: H100}"),
                                            job("algorithm: dpo, models: {actor: {model: qwen3-4b, lora: 8}}, cluster: "
                                                "{groups: [{nodes: 2, gpus_per_node: 3, gpu: H100}, "
                                                "{nodes: 1, gpus_per_node: 4, gpu: A100}]}")};
  return all;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const plan::Job& job : jobs()) {
    const auto read = plan::parse_plan(dovetail::fuzz::as_text(data, size), "input", job);
    if (!read.ok()) {
      DOVETAIL_ASSERT(!read.error().message.empty());
      continue;
    }
    DOVETAIL_ASSERT(!plan::find_fault(*read, job).has_value());
    const std::string text = plan::plan_to_json(*read, job);
    const auto again = plan::parse_plan(text, "written", job);
    DOVETAIL_ASSERT(again.ok() && *again == *read && again->not_modelled == read->not_modelled &&
                    plan::plan_to_json(*again, job) == text);
    const plan::IterationGraph graph = plan::iteration_graph(job, *read);
    const std::vector<dovetail::base::Ticks> durations(graph.activities.size(), dovetail::base::Ticks(1));
    DOVETAIL_ASSERT(plan::time_iterations(graph, job, *read, durations).period >= dovetail::base::Ticks(1));
  }
  return 0;
}
