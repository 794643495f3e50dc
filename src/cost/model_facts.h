// What the cost of a model is counted from, worked out once for each model.
#pragma once

#include <vector>

#include "cost/profile.h"
#include "llm/counts.h"
#include "llm/layout.h"
#include "llm/transformer.h"

namespace dovetail::cost {

struct ModelFacts {
  llm::Transformer model;
  llm::ParameterCounts parameters;
  double dense_layer = 0;              ///< multiplications of a token in a layer without experts
  double routed_layer = 0;             ///< the same in one with experts, outside of these
  double routed = 0;                   ///< in the experts that a token is routed to
  double beside_routed = 0;            ///< of routed_layer those in the router and in shared experts
  double head = 0;                     ///< in the head
  double all = 0;                      ///< in all layers and the head
  double scores = 0;                   ///< FLOPs of a layer's causal attention for each squared token of a sequence
  double decode_scores = 0;            ///< FLOPs of a layer's attention for a token that is decoded and one before it
  double tensors = 0;                  ///< weights with a name of their own, as in a checkpoint
  int shard_group = 0;                 ///< ranks that ZeRO cuts over (Conventions::shard_group)
  bool head_again = false;             ///< a backward computes the head's products again: its logits were not kept
  int element_bytes = 2;               ///< of a weight outside of training (cost/conventions.h)
  double engine_layer_bytes = 2;       ///< of a weight of a layer in an engine, outside of routed experts
  double engine_expert_bytes = 2;      ///< likewise of a routed expert
  double key_value_element_bytes = 2;  ///< of an element of its keys and values

  std::vector<LayerProfile> profiles = {};  ///< what was measured of it (profiles_of), in place of the roofline
};

ModelFacts facts_of(const llm::Transformer& model);

/// FLOPs of decoding one token of each of `sequences`, with scores against `context` tokens before it: of latent
/// attention in its absorbed form, where each head meets the compressed vector itself (arXiv 2405.04434,
/// section 2.1.2).
double decode_flops(const ModelFacts& facts, double sequences, double context);

/// Weights that a decode step of `sequences` tokens reads: all but the embedding, and of the experts those that some
/// token is routed to: with even routing all but (1 - active / count)^sequences of them, on average
/// (docs/facts.md#decode-step).
double touched_parameters(const ModelFacts& facts, double sequences);

/// Bytes of these in an engine, in its own bits.
double touched_bytes(const ModelFacts& facts, double sequences);

/// The layers of a pipeline stage, and whether it has the embedding and the head.
struct StageLayers {
  double dense = 0;
  double with_experts = 0;
  bool first = false;
  bool last = false;

  double layers() const { return dense + with_experts; }
};

StageLayers layers_of_stage(const ModelFacts& facts, const llm::Layout& layout, int stage);

/// Parameters of one rank of a stage under tensor and expert parallelism, before ZeRO: those that all ranks of a data x
/// context group share, and those of its routed experts. Largest rank; vectors that tensor parallelism does not cut are
/// neglected.
struct RankParameters {
  double shared = 0;
  double routed = 0;
};

RankParameters parameters_of_rank(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage);

/// Bytes of the weights outside of training of the rank that has the most, cut by ZeRO-3 where the layout has it.
std::int64_t weight_bytes(const ModelFacts& facts, const llm::Layout& layout);

/// Bytes of an engine's weights on the rank that has the most, in the engine's own bits.
std::int64_t engine_bytes(const ModelFacts& facts, const llm::Layout& layout);

}  // namespace dovetail::cost
