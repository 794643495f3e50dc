#include "cost/model_facts.h"

#include <algorithm>
#include <cmath>

#include "llm/layout.h"

namespace dovetail::cost {
namespace {

double layers_with_experts(const ModelFacts& facts) {
  const llm::Transformer& model = facts.model;
  return model.experts ? static_cast<double>(model.layers - std::min(model.layers, model.experts->dense_layers)) : 0;
}

/// Returns the weights of all routed experts.
double routed_parameters(const ModelFacts& facts) {
  if (!facts.model.experts) return 0;
  return layers_with_experts(facts) * static_cast<double>(facts.model.experts->count) *
         static_cast<double>(facts.parameters.expert);
}

/// Returns the fraction of routed experts that no token of `sequences` sequences is routed to.
double missed_experts(const ModelFacts& facts, double sequences) {
  if (!facts.model.experts) return 0;
  const double share =
      static_cast<double>(facts.model.experts->active) / static_cast<double>(facts.model.experts->count);
  return std::pow(1 - share, sequences);
}

/// Returns the weights of layers without their routed experts.
double layer_parameters(const ModelFacts& facts, const StageLayers& layers) {
  return layers.dense * static_cast<double>(facts.parameters.dense_layer) +
         layers.with_experts * static_cast<double>(facts.parameters.expert_layer);
}

/// Returns the bytes that the engine's precision saves on `of_layers` layer weights and `of_experts` expert weights.
double saved_bytes(const ModelFacts& facts, double of_layers, double of_experts) {
  return (facts.element_bytes - facts.engine_layer_bytes) * of_layers +
         (facts.element_bytes - facts.engine_expert_bytes) * of_experts;
}

/// Counts the tensors of all layers, each of which equals the first or the last one, and of embedding and head.
double count_tensors(const ModelFacts& facts) {
  const auto of_layer = [&](std::int64_t layer) {
    return static_cast<double>(llm::layer_tensors(facts.model, layer).size());
  };
  const double around =
      static_cast<double>(llm::embedding_tensors(facts.model).size() + llm::head_tensors(facts.model).size());
  const double routed = layers_with_experts(facts);
  const double dense = static_cast<double>(facts.model.layers) - routed;
  return around + (dense > 0 ? dense * of_layer(0) : 0) + (routed > 0 ? routed * of_layer(facts.model.layers - 1) : 0);
}

/// Returns the FLOPs of both products of a layer's attention, for one token and one token before it.
double decode_scores_of(const ModelFacts& facts) {
  // Causal scores cover half of a square. A decoded token attends to all tokens before it.
  if (!facts.model.latent) return 2 * facts.scores;
  return 2 * static_cast<double>(facts.model.heads *
                                 (2 * facts.model.latent->key_value_rank + facts.model.latent->rotary_size));
}

}  // namespace

ModelFacts facts_of(const llm::Transformer& model) {
  ModelFacts facts;
  facts.model = model;
  facts.parameters = llm::count_parameters(model);
  if (model.experts) {
    facts.routed = static_cast<double>(model.experts->active * facts.parameters.expert);
    facts.routed_layer =
        static_cast<double>(llm::layer_multiplications(model, model.experts->dense_layers)) - facts.routed;
    const int projections = model.feed_forward == llm::FeedForward::gated ? 3 : 2;
    facts.outside_routed =
        static_cast<double>(model.hidden * (model.experts->count + projections * model.experts->shared_width));
  }
  // Layer -1 counts as a layer without experts, even if all layers have experts.
  facts.dense_layer = static_cast<double>(llm::layer_multiplications(model, model.experts ? -1 : 0));
  facts.head = static_cast<double>(llm::head_multiplications(model));
  facts.scores = llm::layer_forward_flops(model, 0, {0, 1});
  facts.decode_scores = decode_scores_of(facts);
  facts.tensors = count_tensors(facts);
  const double routed_layers = layers_with_experts(facts);
  facts.all = (static_cast<double>(model.layers) - routed_layers) * facts.dense_layer +
              routed_layers * (facts.routed_layer + facts.routed) + facts.head;
  return facts;
}

double decode_flops(const ModelFacts& facts, double sequences, double context) {
  return (2 * facts.all + static_cast<double>(facts.model.layers) * facts.decode_scores * context) * sequences;
}

double touched_parameters(const ModelFacts& facts, double sequences) {
  const llm::ParameterCounts& counts = facts.parameters;
  double touched = static_cast<double>(counts.all - counts.embedding + counts.adapters);
  if (facts.model.tied_embeddings) touched += facts.head;
  return touched - routed_parameters(facts) * missed_experts(facts, sequences);
}

double touched_bytes(const ModelFacts& facts, double sequences) {
  const StageLayers all{.dense = static_cast<double>(facts.model.layers) - layers_with_experts(facts),
                        .with_experts = layers_with_experts(facts)};
  const double touched_experts = routed_parameters(facts) * (1 - missed_experts(facts, sequences));
  return facts.element_bytes * touched_parameters(facts, sequences) -
         saved_bytes(facts, layer_parameters(facts, all), touched_experts);
}

StageLayers layers_of_stage(const ModelFacts& facts, const llm::Layout& layout, int stage) {
  StageLayers layers;
  layers.first = stage == 0;
  layers.last = stage == layout.pipeline - 1;
  for (const llm::Chunk& chunk : llm::chunks_of(layout, facts.model, stage))
    for (std::int64_t layer = chunk.begin; layer < chunk.end; ++layer)
      ++(llm::has_experts(facts.model, layer) ? layers.with_experts : layers.dense);
  return layers;
}

RankParameters parameters_of_rank(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage) {
  const llm::ParameterCounts& counts = facts.parameters;
  double shared = layer_parameters(facts, stage);
  if (stage.first) shared += static_cast<double>(counts.embedding);
  if (stage.last) shared += static_cast<double>(counts.head);
  // A tied head on a different stage than the embedding is a copy.
  if (stage.last && !stage.first && facts.model.tied_embeddings) shared += facts.head;
  RankParameters parameters;
  parameters.shared = shared / layout.tensor;
  if (facts.model.experts)
    parameters.routed = stage.with_experts * static_cast<double>(facts.model.experts->count * counts.expert) /
                        (static_cast<double>(layout.expert) * layout.expert_tensor);
  return parameters;
}

std::int64_t engine_bytes(const ModelFacts& facts, const llm::Layout& layout) {
  double most = 0;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const StageLayers layers = layers_of_stage(facts, layout, stage);
    const RankParameters rank = parameters_of_rank(facts, layout, layers);
    const double saved = saved_bytes(facts, layer_parameters(facts, layers) / layout.tensor, rank.routed);
    most = std::max(most, facts.element_bytes * (rank.shared + rank.routed) - saved);
  }
  return static_cast<std::int64_t>(most);
}

std::int64_t weight_bytes(const ModelFacts& facts, const llm::Layout& layout) {
  double most = 0;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const RankParameters rank = parameters_of_rank(facts, layout, layers_of_stage(facts, layout, stage));
    most = std::max(most, rank.shared + rank.routed);
  }
  const double shards = layout.zero == 3 ? llm::shard_ranks(layout, facts.shard_group) : 1;
  return static_cast<std::int64_t>(facts.element_bytes * most / shards);
}

}  // namespace dovetail::cost
