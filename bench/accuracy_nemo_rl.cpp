#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "accuracy_sets.h"
#include "cost/generation.h"
#include "cost/training.h"
#include "llm/bundled_models.h"
#include "workflow/log_normal.h"

namespace dovetail::bench {
namespace {

using cost::Candidate;
using cost::ModelFacts;
using workflow::LengthDistribution;

constexpr double gigabyte = 1e9;
constexpr int prompt = 120;       // OpenMathInstruct-2: about 100 to 135 tokens
constexpr std::size_t sigma = 0;  // Candidate::workload: of the logarithm of the responses' lengths

struct Phases {
  double training, refit, generation, log_probabilities;
};

struct Row {
  const char* name;
  const char* model;
  int devices;       // of training, and as many of generation
  bool apart;        // one step off: generation on devices of its own
  int longest;       // prompt and response
  double generated;  // mean tokens of a response
  int rollouts;
  int train_batch;
  int engine_tensor;
  int tensor, context, expert, pipeline;
  bool recomputed;
  double seconds;
  std::optional<Phases> phases = {};
  bool fully_sharded = false;  // PyTorch FSDP2
};

constexpr Phases phases_8b = {28, 5, 58, 18};
constexpr Phases phases_70b = {28, 14, 84, 18};
constexpr Phases phases_32b = {68, 7, 96, 40};
constexpr Phases phases_8b_fsdp = {38, 4, 57, 19};
constexpr Phases phases_70b_fsdp = {97, 15, 82, 28};

constexpr const char* llama_8b = "llama-3.1-8b";
constexpr const char* llama_70b = "llama-3.1-70b";
constexpr const char* qwen_32b = "qwen3-32b";
constexpr const char* qwen_30b = "qwen3-30b-a3b";
constexpr const char* qwen_235b = "qwen3-235b-a22b";
constexpr const char* deepseek = "deepseek-v3";

constexpr std::array<Row, 11> counted = {{
    {"8B, on policy", llama_8b, 16, false, 4096, 1060, 2048, 512, 1, 1, 1, 1, 2, true, 97.7},
    {"8B, 1 off", llama_8b, 8, true, 4096, 1129, 2048, 512, 1, 1, 1, 1, 2, true, 74.6},
    {"8B, phases", llama_8b, 8, false, 4096, 795, 2048, 512, 1, 1, 1, 1, 1, true, 112, phases_8b},
    {"70B, phases", llama_70b, 64, false, 4096, 398, 2048, 512, 4, 4, 1, 1, 4, true, 147, phases_70b},
    {"Qwen3-32B, on policy", qwen_32b, 32, false, 4096, 3206, 2048, 512, 4, 4, 1, 1, 4, false, 393},
    {"Qwen3-32B, 1 off", qwen_32b, 32, true, 4096, 3207, 2048, 512, 4, 4, 1, 1, 4, false, 215},
    {"Qwen3-32B, phases", qwen_32b, 64, false, 4096, 3283, 2048, 512, 4, 4, 1, 1, 2, false, 213, phases_32b},
    {"Qwen3-30B-A3B, on policy", qwen_30b, 32, false, 4096, 3154, 2048, 512, 4, 2, 1, 8, 1, false, 225},
    {"Qwen3-235B, on policy", qwen_235b, 128, false, 8192, 5671, 512, 512, 16, 2, 2, 16, 8, true, 506},
    {"DeepSeek-V3, on policy", deepseek, 256, false, 1536, 745, 512, 512, 32, 1, 1, 16, 16, true, 154},
    {"DeepSeek-V3, 1 off", deepseek, 256, true, 1536, 744, 512, 512, 32, 1, 1, 16, 16, true, 77.9},
}};

/// Doubtful rows, and those of another training backend.
constexpr std::array<Row, 4> shown = {{
    {"Qwen3-30B-A3B, 1 off: doubtful", qwen_30b, 16, true, 4096, 3158, 2048, 512, 2, 1, 1, 8, 2, false, 244},
    {"Qwen3-235B, 1 off: doubtful", qwen_235b, 128, true, 8192, 5691, 512, 512, 8, 4, 1, 16, 8, true, 241},
    {"8B, phases: FSDP2", llama_8b, 8, false, 4096, 777, 2048, 512, 1, 1, 1, 1, 1, true, 122, phases_8b_fsdp, true},
    {"70B, phases: FSDP2", llama_70b, 64, false, 4096, 395, 2048, 512, 4, 8, 1, 1, 1, true, 230, phases_70b_fsdp, true},
}};

/// Lengths of a row's responses and whole sequences, for a sigma in hundredths.
struct Lengths {
  LengthDistribution responses;
  LengthDistribution whole;
  double micro_batches = 0;  // of a data-parallel rank in training
  double scoring_micro_batches = 0;
};

/// What a row's prediction needs, worked out once.
struct Case {
  Row row;
  ModelFacts facts;
  cluster::Cluster cluster;
  llm::Layout training;
  llm::Layout engine;
  LengthDistribution prompts = LengthDistribution::fixed(prompt);
  mutable std::map<int, Lengths> lengths;  // [sigma in hundredths]
};

std::shared_ptr<const Case> case_of(const Row& row) {
  auto one = std::make_shared<Case>();
  one->row = row;
  one->facts = cost::facts_of(llm::find_bundled_model(row.model).value());
  one->cluster.groups.push_back({row.devices / 8, 8, cluster::find_gpu("H100").value(), 0});
  one->cluster.networks.push_back({"InfiniBand", 0, 50 * gigabyte, 5e-6});
  llm::Layout& layout = one->training;
  layout.tensor = row.tensor;
  layout.context = row.context;
  layout.expert = row.expert;
  layout.pipeline = row.pipeline;
  layout.data = row.devices / (row.tensor * row.context * row.pipeline);
  layout.zero = row.fully_sharded ? 3 : 1;
  layout.sequence_parallel = row.tensor > 1;
  if (row.recomputed) layout.recomputation = llm::Recomputation::full;
  if (row.model == qwen_235b) layout.stage_layers = {11, 12, 12, 12, 12, 12, 12, 11};
  if (row.model == deepseek) layout.stage_layers = {3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2};
  one->engine.tensor = row.engine_tensor;
  one->engine.data = row.devices / row.engine_tensor;
  return one;
}

const Lengths& lengths_of(const Case& one, double spread) {
  const int hundredths = static_cast<int>(std::lround(spread * 100));
  const auto known = one.lengths.find(hundredths);
  if (known != one.lengths.end()) return known->second;
  workflow::LengthFigures figures;
  figures.mean = one.row.generated;
  figures.sigma = hundredths / 100.0;
  figures.cap = one.row.longest - prompt;
  const LengthDistribution responses = workflow::log_normal_lengths(figures);
  const LengthDistribution whole = cost::whole_lengths(one.prompts, responses);
  const cost::MicroBatching packed{.tokens = static_cast<double>(one.row.longest)};
  const double ranks = one.training.data;
  return one.lengths
      .emplace(hundredths, Lengths{responses, whole, cost::count_micro_batches(whole, one.row.train_batch / ranks, packed),
                                   cost::count_micro_batches(whole, one.row.rollouts / ranks, packed)})
      .first->second;
}

double generation_of(const Case& one, const Lengths& lengths, const cost::Machine& machine, const cost::Efficiency& efficiency) {
  // What vLLM may use, less the weights, its activations and graphs.
  const double share = one.row.apart ? 0.8 : 0.6;
  const double weights = 2 * static_cast<double>(one.facts.parameters.all) / one.row.engine_tensor;
  const double room = std::max(gigabyte, share * static_cast<double>(machine.gpu.memory) - weights - 4 * gigabyte);
  const cost::GenerationWork work{static_cast<double>(one.row.rollouts), 1, &one.prompts, &lengths.responses};
  return cost::generation_seconds(one.facts, one.engine, work, {256, room}, machine, efficiency).sum();
}

/// Policy and reference, whose weights change places with those of the policy: these go to host memory, the others come, and go back.
double log_probabilities_of(const Case& one, const Lengths& lengths, const cost::Machine& machine, const cost::Efficiency& efficiency) {
  const cost::Batch batch = cost::batch_of(one.row.rollouts, lengths.whole);
  const cost::MicroBatching packed{.count = static_cast<int>(std::lround(lengths.scoring_micro_batches))};
  const cost::RankParameters parameters =
      cost::parameters_of_rank(one.facts, one.training, cost::layers_of_stage(one.facts, one.training, 0));
  const double shards = one.row.fully_sharded ? one.training.data : 1;
  const double swapped = 3 * 2 * (parameters.shared + parameters.routed) / shards;
  return 2 * (cost::scoring_seconds(one.facts, one.training, batch, packed, machine, efficiency).seconds + efficiency.task) +
         cost::host_seconds(machine, swapped, efficiency);
}

/// Total, training, refit, generation, log-probabilities.
std::vector<double> predict(const Case& one, const Candidate& candidate) {
  const cost::Efficiency& efficiency = candidate.efficiency;
  const Lengths& lengths = lengths_of(one, candidate.workload[sigma]);
  const cost::Machine machine = cost::machine_of(one.cluster, {0, one.row.devices}, efficiency);
  const cost::Batch batch = cost::batch_of(one.row.rollouts, lengths.whole);
  const cost::MicroBatching packed{.count = static_cast<int>(std::lround(lengths.micro_batches))};
  const cost::Stepping stepping{one.row.rollouts / one.row.train_batch, packed};
  const double training = cost::training_seconds(one.facts, one.training, batch, stepping, machine, efficiency).sum() + efficiency.task;
  const double generation = generation_of(one, lengths, machine, efficiency);
  const double scoring = log_probabilities_of(one, lengths, machine, efficiency);
  // The optimizer's 12 bytes a parameter make room for the engine: out before the refit, back before training.
  const double offload =
      one.row.apart ? 0 : cost::host_seconds(machine, 12 * static_cast<double>(one.facts.parameters.all) / one.row.devices, efficiency);
  const double refit = cost::refit_seconds(one.facts, one.row.devices, one.row.apart, machine, efficiency) + offload;
  const double rest = efficiency.iteration + offload;
  const double total =
      one.row.apart ? std::max(generation, training + scoring + rest) + refit : generation + training + scoring + refit + rest;
  return {total, training, refit, generation, scoring};
}

/// Phases count half of a total, where they are a tenth of it; the refit, which never is, a little.
cost::CalibrationRow calibration_row(const Row& row, bool counts) {
  std::vector<cost::MeasuredSeconds> measured = {{"total", row.seconds, counts ? 1.0 : 0.0}};
  const Phases phases = row.phases.value_or(Phases{0, 0, 0, 0});
  const auto add = [&](const char* phase, double seconds, double weight) {
    measured.push_back({phase, seconds, counts && seconds > 0 ? weight : 0});
  };
  add("training", phases.training, 0.5);
  add("refit", phases.refit, 0.1);
  add("generation", phases.generation, 0.5);
  add("log-probs", phases.log_probabilities, 0.5);
  return {row.name, row.model, measured, [one = case_of(row)](const Candidate& candidate) { return predict(*one, candidate); }};
}

}  // namespace

MeasuredSet nemo_rl_set() {
  MeasuredSet set{"h100/megatron-vllm", "NeMo-RL v0.3 and v0.4, DGX H100", {}, {}, {}, {}};
  for (const Row& row : counted) set.rows.push_back(calibration_row(row, true));
  for (const Row& row : shown) set.others.push_back(calibration_row(row, false));
  for (const char* name : {"matrix_products", "expert_products", "expert_launch", "slot", "memory_bandwidth", "decode_layer", "decode_step",
                           "decode_sequence", "links.between.latency", "refit", "refit_links", "refit_tensor", "task", "iteration"})
    set.unknowns.push_back(cost::efficiency_unknown(name));
  set.unknowns.push_back(cost::workload_unknown("sigma of lengths", sigma, 0.3, 1.3));
  set.start.workload = {0.8};
  set.start.efficiency.links.between.latency = 2e-5;
  return set;
}

}  // namespace dovetail::bench
