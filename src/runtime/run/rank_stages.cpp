#include "runtime/run/rank_stages.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "runtime/training/tensor_numbers.h"

namespace dovetail::runtime {
namespace {

using base::Status;

/// [stage of the model] its layers.
std::vector<LayerRange> layers_of(const llm::Layout& layout, const llm::Transformer& shape) {
  std::vector<LayerRange> layers(static_cast<std::size_t>(layout.pipeline * layout.virtual_stages));
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const std::vector<llm::Chunk> chunks = llm::chunks_of(layout, shape, stage);
    for (std::size_t round = 0; round < chunks.size(); ++round)
      layers[round * static_cast<std::size_t>(layout.pipeline) + static_cast<std::size_t>(stage)] = {
          chunks[round].begin, chunks[round].end};
  }
  return layers;
}

/// This rank's place among those that have the stage, replica by replica, and how many these are.
std::pair<std::size_t, std::size_t> share_of(const pipeline::ModelPlacement& placement, std::size_t stage, int rank) {
  std::vector<int> ranks;
  for (const auto& replica : placement.ranks) ranks.insert(ranks.end(), replica[stage].begin(), replica[stage].end());
  std::sort(ranks.begin(), ranks.end());
  const auto own = std::find(ranks.begin(), ranks.end(), rank);
  DOVETAIL_ASSERT(own != ranks.end());
  return {static_cast<std::size_t>(own - ranks.begin()), ranks.size()};
}

/// Weights of some layers, where the whole ones are, without their values.
Weights empty_stage(const Weights& whole, const LayerRange& layers) {
  Weights weights = empty_weights(whole.shape, whole.computation, whole.values.scalar_type(), layers);
  const at::Device device = whole.values.device();
  if (!device.is_cpu()) set_values(weights, at::empty_like(weights.values, at::TensorOptions(device)));
  return weights;
}

Model model_of(Weights& whole, const LayerRange& layers) {
  Weights weights = empty_stage(whole, layers);
  if (layers == whole.layers) set_values(weights, whole.values);
  make_gradients(weights);
  return Model(std::move(weights));
}

/// Copies what a stage has of the model.
void give_values(const Weights& stage, Weights& whole) {
  for (const Parameter& parameter : stage.parameters)
    if (!parameter.shared && !parameter.is_copy()) whole.parameters[parameter.place].value.copy_(parameter.value);
}

const StageState* find_state(const RankStages& stages, std::size_t stage) {
  const auto found = std::find_if(stages.states.begin(), stages.states.end(),
                                  [&](const StageState& state) { return state.stage == stage; });
  return found == stages.states.end() ? nullptr : &*found;
}

}  // namespace

RankStages cut_stages(Weights& whole, const pipeline::Program& program, std::size_t model,
                      const pipeline::ModelPlacement& placement, const llm::Layout& layout) {
  RankStages stages{.states = {}, .layers = layers_of(layout, whole.shape), .ranks = {}};
  for (const pipeline::ProgramStage& stage : program.stages) {
    if (stage.model.index() != model) continue;
    const std::size_t s = stage.stage.index();
    const std::size_t replica = stage.replica.index();
    DOVETAIL_ASSERT(stages.states.empty() || stages.states.front().replica == replica);
    Model own = model_of(whole, stages.layers[s]);
    const bool is_sharded = layout.zero > 0;
    const auto [share, shares] =
        is_sharded ? share_of(placement, s, program.rank) : std::pair<std::size_t, std::size_t>(0, 1);
    Optimizer optimizer = make_optimizer(own.weights, parts_of_share(own.weights, shares, share));
    stages.states.push_back({replica, s, std::move(own), std::move(optimizer), layout.recomputation, is_sharded});
  }
  DOVETAIL_ASSERT(!stages.states.empty());
  for (const std::vector<int>& ranks : placement.ranks[stages.states.front().replica]) {
    DOVETAIL_ASSERT(ranks.size() == 1);
    stages.ranks.push_back(ranks.front());
  }
  take_values(stages, whole);
  return stages;
}

void take_values(RankStages& stages, const Weights& whole) {
  if (stages.are_whole_model()) return;
  for (StageState& state : stages.states)
    for (const Parameter& parameter : state.model.weights.parameters)
      if (!parameter.shared) parameter.value.copy_(whole.parameters[parameter.place].value);
}

std::vector<int> ranks_of_replica(const RankStages& stages) {
  std::vector<int> ranks = stages.ranks;
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Status gather_values(const RankStages& stages, Weights& whole, control::RankTalk& talk,
                     transport::Collectives& collectives) {
  const transport::Deadline deadline = transport::Clock::now() + talk.timeout();
  const std::vector<int> replica = ranks_of_replica(stages);
  for (std::size_t s = 0; s < stages.layers.size(); ++s) {
    const StageState* const own = find_state(stages, s);
    const Weights theirs = own == nullptr ? empty_stage(whole, stages.layers[s]) : Weights{};
    const Weights& stage = own == nullptr ? theirs : own->model.weights;
    const auto root =
        static_cast<std::size_t>(std::find(replica.begin(), replica.end(), stages.ranks[s]) - replica.begin());
    const transport::Group group = transport::control_group(replica, talk.take_number());
    DOVETAIL_CHECK(with_numbers(stage.values, stage.values.device(), collectives, [&](transport::Numbers numbers) {
      return collectives.broadcast(group, root, numbers, deadline);
    }));
    give_values(stage, whole);
  }
  return {};
}

}  // namespace dovetail::runtime
