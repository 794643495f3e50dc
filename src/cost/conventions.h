// Properties of training frameworks: which tensors they keep in memory, in which types, whether they balance sequences
// across ranks, and which layouts their trainers support.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cost {

/// Properties of a framework that determine its memory: the tensors its code keeps, and their types. Three numbers are
/// fitted to measured runs instead, as their comments note (see docs/accuracy.md). Per-run choices such as ZeRO or
/// recomputation are in llm::Layout.
struct Conventions {
  std::string name;
  std::string description;  ///< framework, settings and source

  // Bytes of a trained parameter. A frozen parameter keeps its weight only. llm::Layout::zero decides what is sharded.
  int weight_bytes = 2;
  int gradient_bytes = 4;
  int moment_bytes = 8;   ///< both of Adam's moments
  int master_bytes = 4;   ///< the optimizer's copy of the weight; 0 if the weight itself is fp32
  int element_bytes = 2;  ///< frozen weights, and the engine's weights and KV cache unless set there
  bool transient_gradients =
      false;  ///< gradients are allocated by the first backward and freed by the step; else a permanent buffer
  bool keeps_gradient_shards = false;    ///< under ZeRO 3 the buffer is permanent regardless (DeepSpeed)
  std::int64_t vocabulary_multiple = 1;  ///< the vocabulary is padded to a multiple of this x tensor-parallel ranks
  /// Bytes for the weight gradients of one layer, each shape once; 0: none. Transformer Engine adds to the gradient
  /// buffer itself and hands autograd a dummy instead.
  int dummy_gradient_bytes = 0;

  // Bytes of a parameter that training time counts.
  int reduced_bytes = 4;  ///< of a gradient that ranks reduce
  int step_bytes = 30;    ///< read and written by an optimizer step: bytes_an_optimizer_step (profile.h)

  // ZeRO 3: parameters gathered for use.
  int gathered_bytes = 2;
  int gathered_layers = 2;       ///< layers gathered in the backward: the current one and the prefetched one
  int layer_gradient_bytes = 2;  ///< gradients of the layer in its backward, before they are scattered
  /// Bytes per parameter of unsharded gradient sums under pipeline parallelism, where a stage stays gathered through
  /// the step (FSDP2 defers scattering to the last micro-batch); 0: scattered each time.
  int summed_gradient_bytes = 0;
  bool gathers_ends_apart = false;  ///< embedding and head only while in use (DeepSpeed), not permanently (FSDP root)

  /// With Adam on the host, gradients move there as they are computed, through a buffer for the largest parameter
  /// unless ZeRO 3 shards it (DeepSpeed).
  bool gradients_follow = false;

  // Activations of a layer.
  int activation_bytes = 2;            ///< of an element, except in the residual stream
  int stream_bytes = 2;                ///< of an element of the residual stream: 4 if autocast leaves it in fp32
  int norm_copy_bytes = 0;             ///< of an element that a norm keeps in addition to its input and output
  int dropout_masks = 0;               ///< per layer, of hidden size with a byte per element
  bool keeps_gathered_inputs = false;  ///< of column-parallel projections under sequence parallelism; else regathered
  bool keeps_projections = false;      ///< queries, keys and values before rotation, in addition to those after it
  bool keeps_gate = false;             ///< the activated gate, in addition to its product (gating is not one kernel)
  bool keeps_expert_product = true;    ///< input of the experts' last projection; false: recomputed ("moe_act")
  bool keeps_expert_output = false;    ///< output of each routed token, weighted after the experts, not inside them
  bool keeps_every_second_product =
      false;                         ///< "selective" is per operator: attention, every second product (torchtitan)
  double checkpoint_bytes = 0;       ///< of a hidden element, kept with a recomputed layer's input; fitted if not 0
  bool keeps_stage_outputs = false;  ///< a stage's output is kept until the backward of its micro-batch
  /// A stage has an input buffer and an output gradient buffer for each micro-batch of the step that it receives
  /// (torch.distributed.pipelining).
  bool receives_apart = false;
  bool keeps_last_outputs = false;  ///< the last stage's logits are kept through the step, in activation_bytes

  // Logits at the peak of the loss: bytes for each token and vocabulary entry.
  double logit_bytes = 6;
  double entropy_logit_bytes = 0;    ///< with the entropy of each token in the loss; 0: not known separately
  double plain_logit_bytes = 0;      ///< without entropy in the loss; 0: not known separately
  double parallel_logit_bytes = 0;   ///< if tensor parallelism splits the vocabulary; 0: the same
  double inference_logit_bytes = 6;  ///< in a forward pass for log-probabilities
  /// `logit_bytes`, `parallel_logit_bytes` and `inference_logit_bytes` of a loss that processes the tokens in slices,
  /// so that copies of their logits are temporary; 0: not known.
  double parts_logit_bytes = 0;
  double parts_parallel_logit_bytes = 0;
  double parts_inference_logit_bytes = 0;
  /// Tokens whose logits exist at once if head and loss are one kernel; 0: all tokens of a micro-batch.
  std::int64_t logit_tokens = 0;
  /// Vocabulary entries whose logit gradients exist at once, if head and loss are one kernel that keeps no logits; 0:
  /// the logits are kept.
  std::int64_t logit_entries = 0;

  int shard_group = 0;              ///< ranks that ZeRO shards over (llm/layout.h); 0: all of data x context
  double optimizer_host_share = 1;  ///< fraction on the host of an optimizer that is offloaded

  /// Sequences are dealt to data-parallel ranks by length, so that all get about the same tokens: verl's balance_batch
  /// (Karmarkar and Karp's differencing), NeMo-RL's packs and sorted batches, ReaL's and RLHFuse's partitions.
  /// Otherwise they are dealt in arrival order.
  bool balances_ranks = true;
  /// A batch is packed into micro-batches before these are dealt in turn, and packs are padded to one length with
  /// pipeline parallelism (NeMo-RL). Otherwise each rank packs its own sequences. Only simulations distinguish the two
  /// (predict/simulated/ranks.h).
  bool deals_packs = false;

  // The allocator.
  std::int64_t bucket = 0;     ///< maximum bytes of the bucket that ZeRO 1 and up reduces gradients in
  std::int64_t overhead = 0;   ///< permanent bytes: cuBLAS workspaces, buckets, the batch; fitted except for DeepSpeed
  double reserved_factor = 0;  ///< peak reserved over peak allocated in training, fitted or assumed; 0: not known

  /// Maximum relative error against a measured peak, or against the largest run that fit (docs/accuracy.md); 0: not
  /// measured.
  double memory_error = 0;
};

/// Returns whether head and loss are one kernel, so that full logits never exist and the backward recomputes them.
inline bool has_head_in_loss(const Conventions& conventions) {
  return conventions.logit_tokens > 0 || conventions.logit_entries > 0;
}

/// Returns the names of the bundled conventions.
std::vector<std::string_view> conventions_names();

/// Returns the bundled conventions of that name. The Error for an unknown name has no position. It suggests the nearest
/// names and lists all.
base::Result<Conventions> find_conventions(std::string_view name);

/// A trainer's support for one kind of parallelism.
enum class Ability {
  searched,  ///< the search may choose the degree
  pinned,    ///< supported, but only on explicit request
  absent,    ///< not supported: the degree is 1
};

/// Layouts that a trainer supports for training and for inference with its own model.
struct TrainerLimits {
  Ability tensor = Ability::searched;
  Ability pipeline = Ability::searched;
  std::vector<int> zero = {0, 1, 2, 3};  ///< ZeRO stages supported with several data-parallel ranks
  int searched_zero = 1;                 ///< the stage that the search uses
  bool one_layout = false;  ///< a role that trains and infers has one mesh and layout: one model in one process group
  bool experts_again = false;  ///< supports recomputing only the expert networks of a layer
};

/// Returns the limits of the trainer with these conventions. For an unknown name, returns everything that the cost
/// model supports.
const TrainerLimits& trainer_limits(std::string_view conventions);

}  // namespace dovetail::cost
