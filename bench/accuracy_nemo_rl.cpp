#include <fmt/core.h>

#include <string>
#include <vector>

#include "accuracy_sets.h"
#include "data_rows.h"
#include "plan/job_file.h"

namespace dovetail::bench {
namespace {

constexpr int prompt = 120;  // OpenMathInstruct-2: about 100 to 135 tokens
constexpr int train_batch = 512;

/// The sources' tables omit samples per prompt, recomputation, packs of inference and sequence parallelism. These
/// values are taken from the configurations that the sources name (examples/configs of github.com/NVIDIA-NeMo/RL). The
/// rows of Llama with phases ran grpo_math_8B_megatron.yaml and grpo_math_70B_megatron.yaml; with FSDP2,
/// grpo_math_8B.yaml. Rows without phases have recipes in recipes/llm/performance. The configuration of Qwen3-32B with
/// phases is not named, so its later recipe and the defaults are used.
struct Row {
  std::string name;
  std::string model;
  int devices = 0;       // of training, and the same number of generation
  bool apart = false;    // one step off policy: generation on separate devices
  int longest = 0;       // prompt and response
  double generated = 0;  // mean tokens per response
  int rollouts = 0;
  int samples_per_prompt = 0;
  int engine_tensor = 0;
  std::string training;  // conventions of the trainer
  llm::Layout layout;
  int scored = 0;  // packs of inference are this many times the maximum length: logprob_batch_size
  double seconds = 0;
  std::vector<measure::MeasuredPhase> phases;
  std::string caveat;
};

std::vector<measure::MeasuredPhase> phases_of(const DataRow& row) {
  using Kind = measure::PhaseKind;
  if (!row.has("training_s")) return {};
  return {{Kind::training, row.number("training_s")},
          {Kind::refit, row.number("refit_s")},
          {Kind::generation, row.number("generation_s")},
          {Kind::inference, row.number("inference_s")}};
}

llm::Layout layout_of(const DataRow& row) {
  llm::Layout layout;
  layout.data = row.integer("dp");
  layout.tensor = row.integer("tp");
  layout.context = row.integer("cp");
  layout.expert = row.integer("ep");
  layout.pipeline = row.integer("pp");
  layout.zero = row.text("training") == "fsdp2" ? 3 : 1;
  layout.sequence_parallel = row.flag("sequence_parallel");
  layout.recomputation = row.named<llm::Recomputation>("recompute");
  layout.stage_layers = row.integers("stage_layers");
  return layout;
}

std::vector<Row> table() {
  std::vector<Row> rows;
  for (const DataRow& row : read_data("accuracy_nemo_rl.csv"))
    rows.push_back({row.text("run"), row.text("model"), row.integer("training_gpus"),
                    row.integer("steps_off_policy") > 0, row.integer("sequence_tokens"),
                    row.number("mean_response_tokens"), row.integer("samples"), row.integer("samples_per_prompt"),
                    row.integer("engine_tp"), row.text("training"), layout_of(row),
                    row.integer("inference_micro_batch_sequences"), row.number("iteration_s"), phases_of(row),
                    row.text("doubtful")});
  return rows;
}

/// The spread of responses is unknown. measure::Measurement::responses replaces the lengths here.
plan::Job job_of(const Row& row) {
  const std::string text = fmt::format(
      "format: dovetail/job@1\n"
      "algorithm: {{name: grpo, reward: rule}}\n"
      "models: {{actor: {}}}\n"
      "workload: {{prompts: {}, samples_per_prompt: {}, mini_batch: {}, prompt_length: {}, response_length: {}, "
      "steps_off_policy: {}}}\n"
      "cluster: {{nodes: {}, gpus_per_node: 8, gpu: H100}}\n"
      "software: {{framework: any, training: {}}}\n",
      row.model, row.rollouts / row.samples_per_prompt, row.samples_per_prompt, train_batch, prompt,
      static_cast<int>(row.generated), row.apart ? 1 : 0, (row.apart ? 2 : 1) * row.devices / 8, row.training);
  return plan::parse_job(text, "nemo-rl.yaml").value();
}

/// Training and both log-probability passes run on the first devices. Engines run on the same devices with gradients
/// and optimizer offloaded, or on the others. The reference is loaded from host memory.
plan::TaskPlan task_plan(const Row& row, const workflow::Task& task) {
  plan::TaskPlan planned;
  planned.mesh = {0, row.devices};
  if (task.kind == workflow::TaskKind::rule) return {};
  if (task.kind == workflow::TaskKind::generate) {
    if (row.apart) planned.mesh.first = row.devices;
    planned.layout.tensor = row.engine_tensor;
    planned.layout.data = row.devices / row.engine_tensor;
    planned.engine.memory_utilization = row.apart ? 0.8 : 0.6;
    return planned;
  }
  planned.layout = row.layout;
  planned.offload.weights = task.role == "reference";
  const bool trains = task.kind == workflow::TaskKind::train;
  planned.micro_batching.tokens = trains ? row.longest : row.scored * row.longest;
  const bool trains_beside_engines = trains && !row.apart;
  planned.offload.gradients = trains_beside_engines;
  planned.offload.optimizer = trains_beside_engines;
  return planned;
}

}  // namespace

measure::Measurements nemo_rl_set() {
  measure::Measurements set{"h100/megatron-vllm", "NeMo-RL v0.3 and v0.4, DGX H100", {}, {}, {}, {}};
  for (const Row& row : table()) {
    plan::Job job = job_of(row);
    plan::Plan plan{"co-located", {}};
    if (row.apart) plan.placement = "disaggregated";
    for (const workflow::Task& task : job.workflow.tasks) plan.tasks.push_back(task_plan(row, task));
    measure::Measurement measured{row.name, row.model, std::move(job), std::move(plan), row.seconds, row.phases};
    measured.caveat = row.caveat;
    measured.weight = measured.caveat.empty() ? 1 : 0;
    measured.responses = measure::OpenLengths{row.generated, row.longest - prompt};
    set.rows.push_back(std::move(measured));
  }
  set.fitted = {"matrix_products",
                "expert_products",
                "expert_launch",
                "slot",
                "memory_bandwidth",
                "decode_layer",
                "decode_step",
                "decode_sequence",
                "links.between.latency",
                "refit",
                "refit_links",
                "refit_tensor",
                "task",
                "iteration"};
  set.start.links.between.latency = 2e-5;
  return set;
}

}  // namespace dovetail::bench
