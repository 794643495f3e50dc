// Properties of training frameworks: which tensors they keep in memory, in which types, whether they balance sequences
// across ranks, and which layouts their trainers support.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cost {

/// Properties of a framework, mainly those that determine its memory: the tensors its code keeps, and their types.
/// Three numbers, marked "fitted", come from measured runs instead (docs/accuracy.md). Per-run choices such as ZeRO or
/// recomputation are in llm::Layout.
struct Conventions {
  std::string name;
  std::string description;  ///< framework, settings and source

  // Bytes of a trained parameter. A frozen parameter has only its weight. llm::Layout::zero decides what is sharded.
  int weight_bytes = 2;
  int gradient_bytes = 4;
  int moment_bytes = 8;  ///< both of Adam's moments
  int master_bytes = 4;  ///< the optimizer's copy of the weight; 0 if the weight itself is fp32
  /// Bytes of an element of frozen weights, and of an engine's weights and KV cache unless these are quantized.
  int element_bytes = 2;
  bool transient_gradients =
      false;  ///< the first backward allocates gradients, and the step frees them; false: a permanent buffer
  /// Under ZeRO 3, the gradient buffer is permanent even with transient_gradients (DeepSpeed).
  bool keeps_gradient_shards = false;
  /// The vocabulary is padded to a multiple of this number times the tensor-parallel ranks.
  std::int64_t vocabulary_multiple = 1;
  /// Bytes of an element of dummy weight gradients, which exist once for each weight shape of a layer; 0: none.
  /// Transformer Engine returns them to autograd, because it adds the real gradients to the gradient buffer itself.
  int dummy_gradient_bytes = 0;

  // Bytes per parameter that determine training time.
  int reduced_bytes = 4;  ///< bytes of a gradient that ranks reduce
  int step_bytes = 30;    ///< bytes that an optimizer step reads and writes: bytes_an_optimizer_step (profile.h)

  // ZeRO 3: parameters gathered for use.
  int gathered_bytes = 2;        ///< bytes of a gathered parameter
  int gathered_layers = 2;       ///< layers gathered together in a pass: the current one and the prefetched one
  int layer_gradient_bytes = 2;  ///< bytes of a gradient of the current layer in the backward, before it is scattered
  /// Bytes per parameter of unsharded gradient sums under pipeline parallelism, if a stage stays gathered for the whole
  /// step (FSDP2 scatters gradients only after the last micro-batch); 0: scattered after each micro-batch.
  int summed_gradient_bytes = 0;
  /// Embedding and head are gathered only while in use (DeepSpeed), not permanently (FSDP's root module).
  bool gathers_ends_apart = false;

  /// With Adam on the host, gradients move there while the backward computes them. Unless ZeRO 3 shards gradients, they
  /// pass through a buffer as large as the largest parameter (DeepSpeed). False: gradients move after the backward.
  bool gradients_follow = false;

  // Activations of a layer.
  int activation_bytes = 2;  ///< bytes of an element, except in the residual stream
  int stream_bytes = 2;      ///< bytes of an element of the residual stream: 4 if autocast leaves it in fp32
  int norm_copy_bytes = 0;   ///< bytes of an element that a norm stores in addition to its input and output
  int dropout_masks = 0;     ///< number of masks per layer, each of hidden size with a byte per element
  /// Stores gathered inputs of column-parallel projections under sequence parallelism; false: regathers them.
  bool keeps_gathered_inputs = false;
  /// Stores queries, keys and values before rotation, in addition to those after it.
  bool keeps_projections = false;
  /// Stores the activated gate in addition to the product of gate and up projection, because they are computed by
  /// separate kernels; false: stores only the product.
  bool keeps_gate = false;
  /// Stores the input of the experts' last projection; false: recomputes it ("moe_act").
  bool keeps_expert_product = true;
  /// Stores the experts' output for each routed token, because the router's weights are applied to it after the
  /// experts; false: they are applied inside the experts.
  bool keeps_expert_output = false;
  bool keeps_every_second_product =
      false;  ///< selective recomputation stores the output of attention and every second product (torchtitan)
  /// Bytes stored for each hidden element of a recomputed layer, in addition to its input; fitted if not 0.
  double checkpoint_bytes = 0;
  bool keeps_stage_outputs = false;  ///< a stage's output is stored until the backward of its micro-batch
  /// A stage has separate buffers for the received input and output gradient of each micro-batch of the step
  /// (torch.distributed.pipelining).
  bool receives_apart = false;
  bool keeps_last_outputs = false;  ///< the last stage stores all logits of the step, with activation_bytes each

  // Logits at the peak of the loss: bytes for each token and vocabulary entry.
  double logit_bytes = 6;
  double entropy_logit_bytes = 0;    ///< with the entropy of each token in the loss; 0: not known separately
  double plain_logit_bytes = 0;      ///< without entropy in the loss; 0: not known separately
  double parallel_logit_bytes = 0;   ///< if tensor parallelism splits the vocabulary; 0: as if it did not
  double inference_logit_bytes = 6;  ///< in a forward pass for log-probabilities
  /// Replace `logit_bytes`, `parallel_logit_bytes` and `inference_logit_bytes` if the loss processes the tokens in
  /// slices, so that copies of their logits are temporary; 0: not known.
  double parts_logit_bytes = 0;
  double parts_parallel_logit_bytes = 0;
  double parts_inference_logit_bytes = 0;
  /// Tokens whose logits exist at the same time if head and loss are one kernel; 0: all tokens of a micro-batch.
  std::int64_t logit_tokens = 0;
  /// Vocabulary entries whose logit gradients exist at the same time if head and loss are one kernel that stores no
  /// logits; 0: logits are stored.
  std::int64_t logit_entries = 0;

  int shard_group = 0;  ///< ranks that ZeRO shards over (llm/layout.h); 0: all data x context ranks
  /// With Offload::optimizer_on_host, the fraction of the optimizer that is on the host; the rest stays on the device.
  double optimizer_host_share = 1;

  /// Sequences are assigned to data-parallel ranks by length, so that all ranks get about the same number of tokens:
  /// verl's balance_batch (Karmarkar and Karp's differencing), NeMo-RL's packs and sorted batches, ReaL's and RLHFuse's
  /// partitions. Otherwise, they are assigned in arrival order.
  bool balances_ranks = true;
  /// The batch is packed into micro-batches, which are then assigned to ranks in turn; pipeline parallelism pads them
  /// to one length (NeMo-RL). Otherwise, each rank packs its own sequences. Simulated times
  /// (predict/simulated/ranks.h) and peak memory depend on this; analytical times do not.
  bool deals_packs = false;

  // Buffers, overhead, and memory that the allocator reserves.
  std::int64_t bucket = 0;  ///< maximum bytes of the bucket in which gradients are reduced under ZeRO 1 or higher
  /// Other permanent bytes: cuBLAS workspaces, buckets, the batch; fitted or assumed.
  std::int64_t overhead = 0;
  /// Peak reserved bytes divided by peak allocated bytes in training, fitted or assumed; 0: not known.
  double reserved_factor = 0;

  /// Maximum relative error of predictions, compared with measured peaks or with the largest runs that fit
  /// (docs/accuracy.md); 0: not measured.
  double memory_error = 0;
};

/// Returns whether head and loss are one kernel, so that full logits never exist and the backward repeats the head's
/// products.
inline bool has_head_in_loss(const Conventions& conventions) {
  return conventions.logit_tokens > 0 || conventions.logit_entries > 0;
}

/// Returns the names of the bundled conventions.
std::vector<std::string_view> conventions_names();

/// Returns the bundled conventions of that name. The Error for an unknown name suggests the nearest name, lists all,
/// and has no position.
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
  int searched_zero = 1;                 ///< ZeRO stage that the search uses
  /// A role has one mesh and layout for training and inference: one model in one process group.
  bool one_layout = false;
  bool experts_again = false;  ///< supports recomputing only the expert networks of a layer
};

/// Returns the limits of the trainer with these conventions. For an unknown name, returns the defaults of
/// TrainerLimits.
const TrainerLimits& trainer_limits(std::string_view conventions);

}  // namespace dovetail::cost
