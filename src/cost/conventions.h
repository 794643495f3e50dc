// How a training framework spends memory: what it keeps of weights, gradients, optimizer and activations, and in which
// types; and whether it deals sequences out evenly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::cost {

/// Facts of a framework that decide its memory: which tensors its code keeps, in which type. Three numbers are fitted
/// to measured runs instead, as they say; docs/accuracy.md says to which. What a run chooses, such as ZeRO or
/// recomputation, is in llm::Layout.
struct Conventions {
  std::string name;
  std::string description;  ///< which framework, in which setting, and where its facts are from

  // A parameter that is trained, in bytes; of a frozen one only the weight is kept. llm::Layout::zero says what is
  // sharded.
  int weight_bytes = 2;
  int gradient_bytes = 4;
  int moment_bytes = 8;   ///< both of Adam's moments together
  int master_bytes = 4;   ///< the optimizer's own copy of the weight; 0 where the weight is in fp32 itself
  int element_bytes = 2;  ///< of a frozen weight, and in an engine of weights, keys and values where no bits are said
  /// Gradients are allocated by the first backward and given back by the step; else they are a buffer that is always
  /// there.
  bool fleeting_gradients = false;
  bool keeps_gradient_shards = false;  ///< under ZeRO 3 they are such a buffer all the same (DeepSpeed)
  std::int64_t vocabulary_multiple =
      1;  ///< the vocabulary is padded to a multiple of this times the tensor-parallel ranks
  /// Bytes kept for the weight gradients of one layer, each shape once: Transformer Engine adds to the gradient buffer
  /// itself and hands autograd a dummy in its place. 0: no dummies.
  int dummy_gradient_bytes = 0;

  // What of a parameter the time of training counts.
  int reduced_bytes = 4;  ///< of a gradient that ranks reduce
  int step_bytes = 30;    ///< that an optimizer's step reads and writes: bytes_an_optimizer_step (profile.h)

  // ZeRO 3: what is gathered for use.
  int gathered_bytes = 2;        ///< of a parameter
  int gathered_layers = 2;       ///< at once in the backward: the one in use and the one fetched ahead
  int layer_gradient_bytes = 2;  ///< of a parameter of the layer in its backward, before the gradient is scattered
  /// Under pipeline parallelism a stage stays gathered through the step, and sums its gradients whole, in so many bytes
  /// a parameter (FSDP2 defers scattering to the last micro-batch); 0: it scatters each time.
  int summed_gradient_bytes = 0;
  bool gathers_ends_apart =
      false;  ///< embedding and head only while they are used (DeepSpeed), in place of all the time (FSDP's root)

  /// With Adam on the host gradients go there as they come, by way of a buffer for the largest parameter unless ZeRO 3
  /// has cut it (DeepSpeed).
  bool gradients_follow = false;

  // Activations of a layer.
  int activation_bytes = 2;  ///< of an element, but for the stream that layers add to
  int stream_bytes = 2;      ///< of that stream: 4 where autocast leaves it in fp32
  int norm_copy_bytes = 0;   ///< an element, kept by a normalization besides its input and output
  int dropout_masks = 0;     ///< of hidden size and a byte an element, in each layer
  bool keeps_gathered_inputs =
      false;                       ///< of column-parallel projections under sequence parallelism: else gathered again
  bool keeps_projections = false;  ///< of queries, keys and values before they are rotated, besides those after it
  bool keeps_gate = false;         ///< the activated gate is kept besides its product (gating is not one kernel)
  bool keeps_expert_product =
      true;  ///< the input of the experts' last projection; false: it is computed again ("moe_act")
  bool keeps_expert_output = false;  ///< of each routed token, to weigh it behind the experts in place of within them
  bool keeps_every_second_product =
      false;                    ///< "selective" is per operator: attention and each second matrix product (torchtitan)
  double checkpoint_bytes = 0;  ///< an element of hidden, besides a recomputed layer's input; fitted where it is not 0
  bool keeps_stage_outputs = false;  ///< what a stage sent on is kept until the backward of its micro-batch
  /// A stage has a buffer for the input, and for the gradient of the output, of each micro-batch of the step that it
  /// receives (torch.distributed.pipelining).
  bool receives_apart = false;
  bool keeps_last_outputs = false;  ///< the last stage's logits are kept through the step, in activation_bytes

  // Logits, at the peak of the loss.
  double logit_bytes = 6;            ///< a token and vocabulary entry
  double entropy_logit_bytes = 0;    ///< the same of a loss that computes the entropy of each token; 0: not known apart
  double plain_logit_bytes = 0;      ///< the same of one that does not; 0: not known apart
  double parallel_logit_bytes = 0;   ///< the same where the vocabulary is cut by tensor parallelism; 0: no different
  double inference_logit_bytes = 6;  ///< the same of a forward pass alone, for log-probabilities
  /// `logit_bytes`, `parallel_logit_bytes` and `inference_logit_bytes` of a loss that takes some tokens at a time, so
  /// that copies of their logits come and go; 0: not known.
  double parts_logit_bytes = 0;
  double parts_parallel_logit_bytes = 0;
  double parts_inference_logit_bytes = 0;
  /// Of how many tokens logits are there at once, where head and loss are one kernel; 0: of all of a micro-batch.
  std::int64_t logit_tokens = 0;
  /// Of how many entries of the vocabulary gradients of logits are there at once, where head and loss are one kernel
  /// that keeps no logits; 0: logits are there.
  std::int64_t logit_entries = 0;

  int shard_group = 0;              ///< ranks that ZeRO cuts over (llm/shard_groups.h); 0: all of data x context
  double optimizer_host_share = 1;  ///< of an optimizer that is stepped on the host: what is there

  /// Sequences are dealt out to data-parallel ranks by their lengths, so that all have about the same tokens: verl's
  /// balance_batch (Karmarkar and Karp's differencing), NeMo-RL's packs and sorted batches, ReaL's and RLHFuse's
  /// partitions. Else as they come.
  bool balances_ranks = true;
  /// A batch is packed into micro-batches before these are dealt out in turn, and packs are padded to one length where
  /// there is a pipeline (NeMo-RL); else each rank packs what it was dealt. Only simulations tell the two apart
  /// (predict/played/packs.h).
  bool deals_packs = false;

  // The allocator.
  std::int64_t bucket = 0;  ///< bytes at most that ZeRO, from stage 1 on, reduces gradients in
  std::int64_t overhead =
      0;  ///< bytes that are always there, such as cuBLAS workspaces, buckets and the batch; fitted, but for DeepSpeed
  double reserved_factor = 0;  ///< peak reserved over peak allocated of training, fitted or assumed; 0: not known

  /// By what fraction of a measured peak the account was off at most, or at the edge of what ran (docs/accuracy.md); 0:
  /// nothing was measured.
  double memory_error = 0;
};

/// Whether head and loss are one kernel, so that logits are never whole and the backward computes them again.
inline bool has_head_in_loss(const Conventions& conventions) {
  return conventions.logit_tokens > 0 || conventions.logit_entries > 0;
}

/// The names of the bundled conventions.
std::vector<std::string_view> conventions_names();

/// The bundled conventions of that name. An Error with a message only that says the nearest names and all that are
/// accepted.
base::Result<Conventions> find_conventions(std::string_view name);

}  // namespace dovetail::cost
