#include <fmt/core.h>

#include <map>
#include <string>
#include <vector>

#include "accuracy_sets.h"
#include "data_rows.h"
#include "plan/job_file.h"

namespace dovetail::bench {
namespace {

struct Row {
  std::string sweep;
  int generated = 0;  // tokens per response, all equal
  int devices = 0;
  int actor = 0;   // actor and reference; billions of parameters
  int critic = 0;  // critic and reward
  int batch = 0;
  double seconds = 0;   // heuristic plan
  double searched = 0;  // plan that ReaL found
};

std::vector<Row> table() {
  std::vector<Row> rows;
  for (const DataRow& row : read_data("accuracy_realhf.csv"))
    rows.push_back({row.text("sweep"), row.integer("response_tokens"), row.integer("gpus"),
                    row.integer("actor_billion_parameters"), row.integer("critic_billion_parameters"),
                    row.integer("batch_sequences"), row.number("heuristic_s"), row.number("searched_s")});
  return rows;
}

plan::Job job_of(const Row& row) {
  static const std::map<int, const char*> models = {
      {7, "llama-2-7b"}, {13, "llama-2-13b"}, {34, "codellama-34b"}, {70, "llama-2-70b"}};
  const std::string text = fmt::format(
      "format: dovetail/job@1\n"
      "algorithm: ppo\n"
      "models: {{actor: {}, reward: {}}}\n"
      "workload: {{prompts: {}, mini_batches: 4, prompt_length: 128, response_length: {}}}\n"
      "cluster: {{nodes: {}, gpus_per_node: 8, gpu: A100-80, network: {{bandwidth: 200Gb/s}}}}\n",
      models.at(row.actor), models.at(row.critic), row.batch, row.generated, row.devices / 8);
  return plan::parse_job(text, "realhf.yaml").value();
}

/// Every call runs on all GPUs. Generation and inference have as many micro-batches as stages, training twice as many;
/// with one stage there is one micro-batch. All sequences are decoded to the end together, with the trained weights.
plan::Plan plan_of(const Row& row, const plan::Job& job) {
  const int stages = row.devices / 8;
  plan::Plan plan{"heuristic", {}};
  for (const workflow::Task& task : job.workflow.tasks) {
    plan::TaskPlan planned;
    planned.mesh = {0, row.devices};
    planned.layout.tensor = 8;
    planned.layout.pipeline = stages;
    planned.layout.zero = 1;
    planned.layout.sequence_parallel = true;
    planned.layout.recomputation = llm::Recomputation::full;
    planned.engine.max_num_seqs = row.batch;
    planned.engine.cuda_graphs = false;
    planned.engine.own_weights = false;
    const bool trains = task.kind == workflow::TaskKind::train;
    if (task.kind != workflow::TaskKind::generate)
      planned.micro_batching.count = trains && stages > 1 ? 2 * stages : stages;
    plan.tasks.push_back(std::move(planned));
  }
  return plan;
}

}  // namespace

measure::Measurements realhf_set() {
  measure::Measurements set{"a100/realhf", "ReaL, heuristic plan, A100-80", {}, {}, {}, {}};
  for (const Row& row : table()) {
    plan::Job job = job_of(row);
    plan::Plan plan = plan_of(row, job);
    std::string name =
        fmt::format("{} g{}, {} GPUs, {}B + {}B", row.sweep, row.generated, row.devices, row.actor, row.critic);
    set.rows.push_back({std::move(name), row.sweep, std::move(job), std::move(plan), row.seconds});
  }
  set.fitted = {"matrix_products", "decode_reduce", "decode_step", "slot", "iteration"};
  // An eager engine. All plans here decode at tensor degree 8, so the rows cannot separate a layer's own kernels from
  // its all-reduces. The former is known from gpt-fast: without compilation it decodes Llama-2-7B on an A100 at 25.5
  // tokens/s, bound by its host (pytorch.org/blog/accelerating-generative-ai-2). That is 24.5 us for each of the 50
  // kernels that a layer of gpt-fast launches. ReaL's decoder layer launches 28 (two norms of 8, 7 products, attention,
  // activation and its product, 2 residuals).
  set.start.decode_launch = 6.9e-4;
  set.start.decode_reduce = 1e-4;
  set.start.decode_step = 2e-3;
  set.start.slot = 5e-3;
  set.start.task = 0;  // included in the iteration's
  return set;
}

std::vector<double> realhf_searched_seconds() {
  std::vector<double> seconds;
  for (const Row& row : table()) seconds.push_back(row.searched);
  return seconds;
}

}  // namespace dovetail::bench
