#include <array>
#include <map>

#include "accuracy_sets.h"
#include "cost/generation.h"
#include "cost/training.h"
#include "llm/bundled_models.h"

namespace dovetail::bench {
namespace {

using cost::Candidate;
using cost::ModelFacts;

constexpr int prompt = 128;
constexpr int mini_batches = 4;

struct Row {
  const char* sweep;
  int generated;  // tokens of each response, all alike
  int devices;
  int actor;   // and reference; billions of parameters
  int critic;  // and reward
  int batch;
  double seconds;
};

constexpr std::array<Row, 21> table = {{
    {"ScaleActor", 128, 8, 7, 7, 512, 31.3},    {"ScaleActor", 128, 16, 13, 7, 512, 30.1},  {"ScaleActor", 128, 32, 34, 7, 512, 34.0},
    {"ScaleActor", 128, 64, 70, 7, 512, 43.7},  {"ScaleActor", 384, 8, 7, 7, 256, 42.3},    {"ScaleActor", 384, 16, 13, 7, 256, 42.6},
    {"ScaleActor", 384, 32, 34, 7, 256, 50.5},  {"ScaleActor", 384, 64, 70, 7, 256, 71.6},  {"ScaleActor", 896, 8, 7, 7, 128, 63.3},
    {"ScaleActor", 896, 16, 13, 7, 128, 69.1},  {"ScaleActor", 896, 32, 34, 7, 128, 84.7},  {"ScaleActor", 896, 64, 70, 7, 128, 129.0},
    {"ScaleCritic", 128, 16, 7, 13, 512, 28.5}, {"ScaleCritic", 128, 32, 7, 34, 512, 30.7}, {"ScaleCritic", 128, 64, 7, 70, 512, 33.0},
    {"ScaleCritic", 384, 16, 7, 13, 256, 37.9}, {"ScaleCritic", 384, 32, 7, 34, 256, 41.9}, {"ScaleCritic", 384, 64, 7, 70, 256, 49.8},
    {"ScaleCritic", 896, 16, 7, 13, 128, 57.5}, {"ScaleCritic", 896, 32, 7, 34, 128, 67.9}, {"ScaleCritic", 896, 64, 7, 70, 128, 77.8},
}};

ModelFacts facts_of_size(int billions, bool scalar) {
  static const std::map<int, const char*> names = {{7, "llama-2-7b"}, {13, "llama-2-13b"}, {34, "codellama-34b"}, {70, "llama-2-70b"}};
  const llm::Transformer model = llm::find_bundled_model(names.at(billions)).value();
  return cost::facts_of(scalar ? llm::with_scalar_head(model) : model);
}

/// What a row's prediction needs, worked out once.
struct Case {
  Row row;
  ModelFacts actor;
  ModelFacts critic;
  cluster::Cluster cluster;
  llm::Layout layout;
};

Case case_of(const Row& row) {
  const int nodes = row.devices / 8;
  Case one{row, facts_of_size(row.actor, false), facts_of_size(row.critic, true), {}, {}};
  one.cluster.groups.push_back({nodes, 8, cluster::find_gpu("A100-80").value(), 0});
  one.cluster.networks.push_back({"InfiniBand", 0, 25e9, 5e-6});
  one.layout.tensor = 8;
  one.layout.pipeline = nodes;
  one.layout.zero = 1;
  one.layout.sequence_parallel = true;
  one.layout.recomputation = llm::Recomputation::full;
  return one;
}

/// Every call after the other: generation, reward, reference and critic, and both trainings. As many micro-batches as stages in generation
/// and scoring, twice as many in training; one where there is one stage. All sequences are decoded to the end, together.
std::vector<double> predict(const Case& one, const Candidate& candidate) {
  const cost::Efficiency& efficiency = candidate.efficiency;
  const cost::Machine machine = cost::machine_of(one.cluster, {0, one.row.devices}, efficiency);
  const auto prompts = workflow::LengthDistribution::fixed(prompt);
  const auto responses = workflow::LengthDistribution::fixed(one.row.generated);
  const auto whole = workflow::LengthDistribution::fixed(prompt + one.row.generated);
  const double sequences = one.row.batch;
  const double generation =
      cost::generation_seconds(one.actor, one.layout, {sequences, 1, &prompts, &responses}, {1e9, 1e18}, machine, efficiency).sum();
  const cost::Batch batch = cost::batch_of(sequences, whole);
  const int stages = one.layout.pipeline;
  const cost::MicroBatching scored{.count = stages};
  const cost::Stepping stepping{mini_batches, {.count = stages > 1 ? 2 * stages : 1}};
  const double scoring = cost::scoring_seconds(one.actor, one.layout, batch, scored, machine, efficiency).seconds +
                         2 * cost::scoring_seconds(one.critic, one.layout, batch, scored, machine, efficiency).seconds;
  const double training = cost::training_seconds(one.actor, one.layout, batch, stepping, machine, efficiency).sum() +
                          cost::training_seconds(one.critic, one.layout, batch, stepping, machine, efficiency).sum();
  return {generation + scoring + training + efficiency.iteration, generation, scoring, training};
}

}  // namespace

MeasuredSet realhf_set() {
  MeasuredSet set{"a100/realhf", "ReaL, heuristic plan, A100-80", {}, {}, {}, {}};
  for (const Row& row : table) {
    const std::string name = std::string(row.sweep) + " g" + std::to_string(row.generated) + ", " + std::to_string(row.devices) +
                             " GPUs, " + std::to_string(row.actor) + "B + " + std::to_string(row.critic) + "B";
    set.rows.push_back({name,
                        row.sweep,
                        {{"total", row.seconds}, {"generation", 0, 0}, {"scoring", 0, 0}, {"training", 0, 0}},
                        [one = case_of(row)](const Candidate& candidate) { return predict(one, candidate); }});
  }
  for (const char* name : {"matrix_products", "decode_launch", "decode_step", "slot", "iteration"})
    set.unknowns.push_back(cost::efficiency_unknown(name));
  // An eager engine: kernels are launched one by one, 1.1 to 1.4 ms a layer and token (reference/physics.md).
  set.start.efficiency.decode_launch = 1.1e-3;
  set.start.efficiency.decode_step = 2e-3;
  set.start.efficiency.slot = 5e-3;
  set.start.efficiency.task = 0;  // in the iteration's
  return set;
}

}  // namespace dovetail::bench
