#include <fmt/core.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy_sets.h"
#include "plan/job_file.h"

namespace dovetail::bench {
namespace {

constexpr int prompt = 120;  // OpenMathInstruct-2: about 100 to 135 tokens
constexpr int train_batch = 512;

/// The sources' tables omit samples per prompt, recomputation, packs of inference and sequence parallelism. These are
/// in the configurations that the sources name (examples/configs of github.com/NVIDIA-NeMo/RL). The rows of Llama with
/// phases ran grpo_math_8B_megatron.yaml and grpo_math_70B_megatron.yaml; with FSDP2, grpo_math_8B.yaml. Rows without
/// phases have recipes in recipes/llm/performance. The configuration of Qwen3-32B with phases is not named, so its
/// later recipe and the defaults are used.
struct Row {
  const char* name;
  const char* model;
  int devices;       // of training, and the same number of generation
  bool apart;        // one step off policy: generation on separate devices
  int longest;       // prompt and response
  double generated;  // mean tokens per response
  int rollouts;
  int samples_per_prompt;
  int engine_tensor;
  int tensor, context, expert, pipeline;
  bool recomputed;
  int scored;  // packs of inference are this many times the maximum length: logprob_batch_size
  double seconds;
  std::vector<measure::MeasuredPhase> phases = {};
  const char* doubtful = "";
  bool fully_sharded = false;     // PyTorch FSDP2
  bool sequence_parallel = true;  // if there is tensor parallelism
};

constexpr const char* llama_8b = "llama-3.1-8b";
constexpr const char* llama_70b = "llama-3.1-70b";
constexpr const char* qwen_32b = "qwen3-32b";
constexpr const char* qwen_30b = "qwen3-30b-a3b";
constexpr const char* qwen_235b = "qwen3-235b-a22b";
constexpr const char* deepseek = "deepseek-v3";

std::vector<measure::MeasuredPhase> phases(double training, double refit, double generation, double inference) {
  using Kind = measure::PhaseKind;
  return {
      {Kind::training, training}, {Kind::refit, refit}, {Kind::generation, generation}, {Kind::inference, inference}};
}

std::vector<Row> table() {
  const char* const printed = "its layouts contradict its recipe";
  const char* const contradicts = "its step time contradicts its tokens/s";
  const char* const fsdp = "another training backend";
  const char* const blind = "blind check: not used for any fit";
  return {
      {"8B, on policy", llama_8b, 16, false, 4096, 1060, 2048, 32, 1, 1, 1, 1, 2, true, 2, 97.7},
      {"8B, 1 off", llama_8b, 8, true, 4096, 1129, 2048, 32, 1, 1, 1, 1, 2, true, 2, 74.6},
      {"8B, phases", llama_8b, 8, false, 4096, 795, 2048, 32, 1, 1, 1, 1, 1, false, 4, 112, phases(28, 5, 58, 18)},
      {"70B, phases",          llama_70b, 64,    false, 4096, 398, 2048, 32, 4, 4, 1, 1, 4, false, 4, 147,
       phases(28, 14, 84, 18), "",        false, false},
      {"Qwen3-32B, on policy", qwen_32b, 32, false, 4096, 3206, 2048, 32, 4, 4, 1, 1, 4, false, 4, 393},
      {"Qwen3-32B, 1 off", qwen_32b, 32, true, 4096, 3207, 2048, 32, 4, 4, 1, 1, 4, false, 4, 215},
      {"Qwen3-32B, phases", qwen_32b, 64, false, 4096, 3283, 2048, 32, 4, 4, 1, 1, 2, false, 4, 213,
       phases(68, 7, 96, 40)},
      {"Qwen3-30B-A3B, on policy", qwen_30b, 32, false, 4096, 3154, 2048, 32, 4, 2, 1, 8, 1, false, 4, 225},
      {"Qwen3-235B, on policy", qwen_235b, 128, false, 8192, 5671, 512, 32, 16, 2, 2, 16, 8, true, 1, 506},
      {"DeepSeek-V3, on policy", deepseek, 256, false, 1536, 745, 512, 16, 32, 1, 1, 16, 16, true, 1, 154},
      {"DeepSeek-V3, 1 off", deepseek, 256, true, 1536, 744, 512, 16, 32, 1, 1, 16, 16, true, 1, 77.9},
      {"Qwen3-30B-A3B, 1 off", qwen_30b, 16, true, 4096, 3158, 2048, 32, 2, 1, 1, 8, 2, false, 4, 244, {}, printed},
      {"Qwen3-235B, 1 off", qwen_235b, 128, true, 8192, 5691, 512, 32, 8, 4, 1, 16, 8, true, 1, 241, {}, contradicts},
      {"Qwen3-30B-A3B, phases", qwen_30b, 64, false, 4096, 3251, 2048, 32, 4, 2, 1, 8, 1, false, 4, 167,
       phases(50, 12, 78, 23), blind},
      {"8B, phases: FSDP2", llama_8b, 8, false, 4096, 777, 2048, 32, 1, 1, 1, 1, 1, false, 2, 122,
       phases(38, 4, 57, 19), fsdp, true},
      {"70B, phases: FSDP2", llama_70b, 64, false, 4096, 395, 2048, 32, 4, 8, 1, 1, 1, false, 2, 230,
       phases(97, 15, 82, 28), fsdp, true},
  };
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
      static_cast<int>(row.generated), row.apart ? 1 : 0, (row.apart ? 2 : 1) * row.devices / 8,
      row.fully_sharded ? "fsdp2" : "nemo-rl-megatron");
  return plan::parse_job(text, "nemo-rl.yaml").value();
}

llm::Layout training_layout(const Row& row) {
  llm::Layout layout;
  layout.tensor = row.tensor;
  layout.context = row.context;
  layout.expert = row.expert;
  layout.pipeline = row.pipeline;
  layout.data = row.devices / (row.tensor * row.context * row.pipeline);
  layout.zero = row.fully_sharded ? 3 : 1;
  layout.sequence_parallel = row.sequence_parallel && row.tensor > 1;
  if (row.recomputed) layout.recomputation = llm::Recomputation::full;
  if (row.model == qwen_235b) layout.stage_layers = {11, 12, 12, 12, 12, 12, 12, 11};
  if (row.model == deepseek) layout.stage_layers = {3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2};
  return layout;
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
  planned.layout = training_layout(row);
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
    measured.doubtful = row.doubtful;
    measured.weight = measured.doubtful.empty() ? 1 : 0;
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
