// Counts of a model's parameters, multiplications and bytes, from which all costs are calculated. Computed once per
// model.
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
  double dense_layer = 0;  ///< multiplications per token in a layer without experts
  /// Multiplications per token in a layer with experts, without its routed experts.
  double routed_layer = 0;
  double routed = 0;                   ///< multiplications per token in the experts that it is routed to
  double outside_routed = 0;           ///< part of routed_layer: the router and the shared experts
  double head = 0;                     ///< multiplications per token in the head
  double all = 0;                      ///< multiplications per token in all layers and the head
  double scores = 0;                   ///< FLOPs of a layer's causal attention / (tokens of the sequence)^2
  double decode_scores = 0;            ///< FLOPs of a layer's attention for one decoded token and one token before it
  double tensors = 0;                  ///< number of named weights, as in a checkpoint
  int shard_group = 0;                 ///< ranks that ZeRO shards over (Conventions::shard_group)
  bool head_again = false;             ///< the backward recomputes the head's products, because logits were not stored
  int element_bytes = 2;               ///< bytes of a weight outside training (cost/conventions.h)
  double engine_layer_bytes = 2;       ///< bytes of a layer's weight in an engine, except in routed experts
  double engine_expert_bytes = 2;      ///< bytes of a routed expert's weight in an engine
  double key_value_element_bytes = 2;  ///< bytes of an element of the KV cache

  std::vector<LayerProfile> profiles = {};  ///< measurements that replace the roofline (profiles_of)
};

ModelFacts facts_of(const llm::Transformer& model);

/// Returns the FLOPs of decoding one token for each of `sequences` sequences, with attention to `context` tokens before
/// it. Latent attention is counted in its absorbed form, in which each head attends to the compressed vector directly
/// (arXiv 2405.04434, section 2.1.2).
double decode_flops(const ModelFacts& facts, double sequences, double context);

/// Returns the number of weights that a decode step of `sequences` tokens reads: all except the embedding and the
/// experts that no token is routed to. With even routing, an expert is missed with probability
/// (1 - active / count)^sequences (docs/facts.md#decode-step).
double touched_parameters(const ModelFacts& facts, double sequences);

/// Returns the bytes of the touched_parameters at the engine's precision.
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

/// Parameters of the largest rank of a stage under tensor and expert parallelism, before ZeRO. Vectors that tensor
/// parallelism does not split count as split.
struct RankParameters {
  double shared = 0;  ///< parameters replicated on all ranks of a data x context group
  double routed = 0;  ///< parameters of its routed experts
};

RankParameters parameters_of_rank(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage);

/// Returns the bytes of weights for inference on the largest rank, sharded if the layout has ZeRO 3.
std::int64_t weight_bytes(const ModelFacts& facts, const llm::Layout& layout);

/// Returns the bytes of an engine's weights on the largest rank, at the engine's precision.
std::int64_t engine_bytes(const ModelFacts& facts, const llm::Layout& layout);

}  // namespace dovetail::cost
