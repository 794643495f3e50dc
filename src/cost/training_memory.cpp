#include "cost/training_memory.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "llm/layout.h"
#include "llm/tensors.h"

namespace dovetail::cost {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

/// Parameters of a rank, by the ranks that share them.
struct Elements {
  std::int64_t trained = 0;  // shared over data x context
  std::int64_t frozen = 0;
  std::int64_t trained_expert = 0;  // shared over the replicas of its experts
  std::int64_t frozen_expert = 0;

  std::int64_t all() const { return trained + frozen + trained_expert + frozen_expert; }
  std::int64_t all_trained() const { return trained + trained_expert; }
  Elements times(std::int64_t count) const {
    return {trained * count, frozen * count, trained_expert * count, frozen_expert * count};
  }
  Elements& operator+=(const Elements& other) {
    trained += other.trained;
    frozen += other.frozen;
    trained_expert += other.trained_expert;
    frozen_expert += other.frozen_expert;
    return *this;
  }
};

/// Inputs of the calculation.
struct Job {
  const llm::Transformer& model;
  const llm::Layout& layout;
  const TrainingShape& shape;
  const Conventions& conventions;

  /// Returns whether FSDP keeps a stage gathered through the step, with unsharded gradients.
  bool stays_gathered() const {
    return layout.zero >= 3 && layout.pipeline > 1 && conventions.summed_gradient_bytes > 0;
  }
  bool has_transient_gradients() const {
    return conventions.transient_gradients && !(conventions.keeps_gradient_shards && layout.zero >= 3);
  }
  /// Returns the experts of a layer on one rank.
  std::int64_t local_experts() const { return model.experts ? model.experts->count / layout.expert : 1; }
};

/// Returns the parameters of a stage's first rank, which has the most: units that do not divide evenly go to the first
/// ranks. Counts each expert tensor `copies` times.
Elements elements_of(const std::vector<llm::Tensor>& tensors, const Job& job, std::int64_t copies = 1) {
  Elements sum;
  for (const llm::Tensor& tensor : tensors) {
    if (tensor.tied && job.layout.pipeline == 1) continue;
    const bool routed = tensor.expert >= 0;
    const bool trained = job.model.adapter_rank == 0 || tensor.adapter;
    const std::int64_t held =
        llm::slice_of(tensor, routed ? job.layout.expert_tensor : job.layout.tensor, 0).elements();
    if (routed)
      (trained ? sum.trained_expert : sum.frozen_expert) += held * copies;
    else
      (trained ? sum.trained : sum.frozen) += held;
  }
  return sum;
}

/// Returns the parameters of one layer with or without experts.
Elements layer_elements(const Job& job, bool with_experts) {
  if (!job.model.experts) return elements_of(llm::layer_tensors(job.model, 0), job);
  // One expert represents all experts of the rank. The router has a row for each.
  llm::Transformer one = job.model;
  one.experts->count = one.experts->active = 1;
  one.experts->dense_layers = with_experts ? 0 : 1;
  Elements sum = elements_of(llm::layer_tensors(one, 0), job, job.local_experts());
  const std::int64_t row = one.hidden + (one.experts->router_bias ? 1 : 0);
  if (with_experts) (job.model.adapter_rank == 0 ? sum.trained : sum.frozen) += (job.model.experts->count - 1) * row;
  return sum;
}

/// Parameters of one kind of layer, and its activations for a micro-batch.
struct LayerKind {
  Elements elements;
  LayerMemory memory;
};

LayerKind layer_kind(const Job& job, bool with_experts) {
  return {layer_elements(job, with_experts),
          layer_memory(job.model, job.layout, job.shape, job.conventions, with_experts)};
}

/// Kinds of layers in the model.
struct Kinds {
  LayerKind dense;
  LayerKind experts;
};

Kinds kinds_of(const Job& job) {
  Kinds kinds{layer_kind(job, false), {}};
  if (job.model.experts) kinds.experts = layer_kind(job, true);
  return kinds;
}

/// Layers and parameters of one stage.
struct Stage {
  std::int64_t dense_layers = 0;
  std::int64_t expert_layers = 0;
  Elements ends;     // embedding and head, if they are on the stage
  Elements max_end;  // the larger of the two
  Elements all;
  Elements max_layer;  // by parameters
  bool is_first = false;
  bool is_last = false;
};

Stage stage_of(const Job& job, const Kinds& kinds, int index) {
  Stage stage;
  stage.is_first = index == 0;
  stage.is_last = index == job.layout.pipeline - 1;
  for (const llm::Chunk& chunk : llm::chunks_of(job.layout, job.model, index)) {
    for (std::int64_t layer = chunk.begin; layer < chunk.end; ++layer)
      ++(llm::has_experts(job.model, layer) ? stage.expert_layers : stage.dense_layers);
  }
  llm::Transformer padded = job.model;
  padded.vocabulary = padded_vocabulary(job.model, job.layout, job.conventions);
  const auto add_end = [&](const Elements& end) {
    stage.ends += end;
    if (end.all() > stage.max_end.all()) stage.max_end = end;
  };
  if (stage.is_first) add_end(elements_of(llm::embedding_tensors(padded), job));
  if (stage.is_last) add_end(elements_of(llm::head_tensors(padded), job));
  stage.all = stage.ends;
  stage.all += kinds.dense.elements.times(stage.dense_layers);
  stage.all += kinds.experts.elements.times(stage.expert_layers);
  if (stage.dense_layers > 0) stage.max_layer = kinds.dense.elements;
  if (stage.expert_layers > 0 && kinds.experts.elements.all() > stage.max_layer.all())
    stage.max_layer = kinds.experts.elements;
  return stage;
}

/// Returns the bytes of elements of `each` bytes. If `sharded`, they are divided among the ranks that share them.
std::int64_t shard_bytes(const Job& job, std::int64_t own, std::int64_t of_experts, int each, bool sharded) {
  const llm::Layout& layout = job.layout;
  if (!sharded) return (own + of_experts) * each;
  const std::int64_t ranks = std::int64_t{layout.data} * layout.context;
  const std::int64_t replicas = ranks * layout.tensor / (std::int64_t{layout.expert} * layout.expert_tensor);
  const int group = job.conventions.shard_group;
  return (divide_up(own, llm::shard_ranks(ranks, group)) + divide_up(of_experts, llm::shard_ranks(replicas, group))) *
         each;
}

/// Returns the bytes of one dummy gradient per shape: the matrices of a layer, with those of one expert.
std::int64_t dummy_gradients(const Job& job, const Kinds& kinds, const Stage& stage) {
  const Elements& experts = kinds.experts.elements;
  const std::int64_t of_dense = stage.dense_layers > 0 ? kinds.dense.elements.trained : 0;
  const std::int64_t of_experts =
      stage.expert_layers > 0 ? experts.trained + experts.trained_expert / job.local_experts() : 0;
  return job.conventions.dummy_gradient_bytes * std::max(of_dense, of_experts);
}

/// Returns the memory that exists through a whole step, including gradients.
MemoryParts lasting_parts(const Job& job, const Kinds& kinds, const Stage& stage) {
  const Conventions& bytes = job.conventions;
  const Elements& all = stage.all;
  const int optimizer_bytes = bytes.moment_bytes + bytes.master_bytes;
  MemoryParts parts;
  parts.weights = shard_bytes(job, all.trained + all.frozen, all.trained_expert + all.frozen_expert, bytes.weight_bytes,
                              job.layout.zero >= 3);
  parts.gradients = shard_bytes(job, all.trained, all.trained_expert, bytes.gradient_bytes, job.layout.zero >= 2);
  parts.optimizer = shard_bytes(job, all.trained, all.trained_expert, optimizer_bytes, job.layout.zero >= 1);
  parts.workspace = dummy_gradients(job, kinds, stage) + bytes.overhead;
  const bool reduces = job.layout.zero >= 1 && job.layout.data * job.layout.context > 1;
  if (reduces) parts.workspace += std::min(bytes.bucket, bytes.gradient_bytes * all.all_trained());
  return parts;
}

/// Returns the activation bytes of all micro-batches in flight, in the layers of the stage and at its boundaries.
std::int64_t activation_bytes(const Job& job, const Kinds& kinds, const Stage& stage, double in_flight) {
  const std::int64_t cuts = job.layout.sequence_parallel ? job.layout.tensor : 1;
  const std::int64_t boundary =
      divide_up(job.conventions.activation_bytes * job.model.hidden * tokens_of_rank(job.layout, job.shape), cuts);
  std::int64_t each = stage.dense_layers * kinds.dense.memory.kept + stage.expert_layers * kinds.experts.memory.kept;
  if (job.conventions.keeps_stage_outputs && !stage.is_last) each += boundary;
  double received = 0;
  if (job.conventions.receives_apart) {
    const auto micro_batches = static_cast<double>(job.shape.micro_batches);
    if (!stage.is_last) received += micro_batches;
    if (!stage.is_first)
      received += std::max(0.0, micro_batches - in_flight);  // the first layer keeps the others as its inputs
  }
  return static_cast<std::int64_t>(
      std::ceil(in_flight * static_cast<double>(each) + received * static_cast<double>(boundary)));
}

/// Returns the bytes that ZeRO 3 has gathered in the backward of a layer, or at the loss.
std::int64_t gathered_bytes(const Job& job, const Stage& stage, bool in_backward) {
  const Conventions& bytes = job.conventions;
  if (job.layout.zero < 3) return 0;
  if (job.stays_gathered())
    return bytes.gathered_bytes * stage.all.all() + bytes.summed_gradient_bytes * stage.all.all_trained();
  // Embedding and head are in the outermost unit. It stays gathered, or is gathered for the loss. The last layer stays
  // gathered until its backward.
  const std::int64_t layers = in_backward ? bytes.gathered_layers : 1;
  const std::int64_t ends = !bytes.gathers_ends_apart ? stage.ends.all() : in_backward ? 0 : stage.max_end.all();
  const std::int64_t weights = bytes.gathered_bytes * (ends + layers * stage.max_layer.all());
  return weights + (in_backward ? bytes.layer_gradient_bytes * stage.max_layer.all_trained() : 0);
}

/// Returns the logit bytes of all micro-batches, if the framework returns the logits at the end of the step.
std::int64_t returned_logits(const Job& job) {
  if (!job.conventions.keeps_last_outputs || has_head_in_loss(job.conventions) || job.layout.pipeline == 1 ||
      job.model.head == llm::Head::scalar)
    return 0;
  return job.conventions.activation_bytes *
         (padded_vocabulary(job.model, job.layout, job.conventions) / job.layout.tensor) *
         tokens_of_rank(job.layout, job.shape) * job.shape.micro_batches;
}

MemoryParts peak_parts(const Job& job, const Kinds& kinds, const Stage& stage, double in_flight) {
  MemoryParts backward = lasting_parts(job, kinds, stage);
  const bool from_before = job.shape.micro_batches > 1 && !job.stays_gathered();
  if (job.has_transient_gradients() && !from_before) backward.gradients = 0;
  backward.activations = activation_bytes(job, kinds, stage, in_flight);
  if (stage.is_last) backward.logits = returned_logits(job);
  MemoryParts loss = backward;
  backward.gathered = gathered_bytes(job, stage, true);
  backward.workspace += std::max(stage.dense_layers > 0 ? kinds.dense.memory.workspace : 0,
                                 stage.expert_layers > 0 ? kinds.experts.memory.workspace : 0);
  if (!stage.is_last) return backward;
  loss.gathered = gathered_bytes(job, stage, false);
  loss.logits += loss_bytes(job.model, job.layout, job.shape, job.conventions);
  return loss.total() > backward.total() ? loss : backward;
}

}  // namespace

MemoryParts static_memory(const llm::Transformer& model, const llm::Layout& layout, const Conventions& conventions,
                          int stage) {
  const TrainingShape no_tokens;
  const Job job{model, layout, no_tokens, conventions};
  const Kinds kinds = kinds_of(job);
  MemoryParts parts = lasting_parts(job, kinds, stage_of(job, kinds, stage));
  if (job.has_transient_gradients()) parts.gradients = 0;
  return parts;
}

MemoryParts max_static_memory(const llm::Transformer& model, const llm::Layout& layout,
                              const Conventions& conventions) {
  MemoryParts largest;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const MemoryParts here = static_memory(model, layout, conventions, stage);
    if (here.total() > largest.total()) largest = here;
  }
  return largest;
}

std::int64_t gathered_in_forward(const llm::Transformer& model, const llm::Layout& layout,
                                 const Conventions& conventions) {
  if (layout.zero < 3) return 0;
  const TrainingShape no_tokens;
  const Job job{model, layout, no_tokens, conventions};
  const Kinds kinds = kinds_of(job);
  std::int64_t most = 0;
  for (int index = 0; index < layout.pipeline; ++index) {
    const Stage stage = stage_of(job, kinds, index);
    const std::int64_t layers = conventions.gathered_layers * stage.max_layer.all();
    std::int64_t elements = stage.ends.all() + layers;
    if (conventions.gathers_ends_apart) elements = std::max(layers, stage.max_end.all() + stage.max_layer.all());
    if (job.stays_gathered()) elements = stage.all.all();
    most = std::max(most, conventions.gathered_bytes * elements);
  }
  return most;
}

namespace {

/// Returns the peak number of layers with held activations on a stage, summed over micro-batches, under interleaved
/// 1F1B of `passes` passes: `warm_up` forwards, then alternating forwards and backwards. Forwards go through the
/// stage's chunks in turn, `stages` passes each, backwards in the opposite order. If chunks differ, the pattern repeats
/// after two rounds of all chunks.
std::int64_t max_layers_held(const std::vector<std::int64_t>& layers, std::int64_t stages, std::int64_t warm_up,
                             std::int64_t passes) {
  const auto chunks = static_cast<std::int64_t>(layers.size());
  const auto layers_of = [&](std::int64_t chunk) { return layers[static_cast<std::size_t>(chunk)]; };
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (std::int64_t pass = 0; pass < std::min(passes, warm_up + 2 * stages * chunks); ++pass) {
    held += layers_of(pass / stages % chunks);
    most = std::max(most, held);
    if (pass >= warm_up) held -= layers_of(chunks - 1 - (pass - warm_up) / stages % chunks);
  }
  return most;
}

}  // namespace

double micro_batches_in_flight(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                               int stage) {
  if (!shape.in_flight.empty()) return shape.in_flight[static_cast<std::size_t>(stage)];
  if (shape.all_forwards_first) return static_cast<double>(shape.micro_batches);
  const std::int64_t after = layout.pipeline - 1 - stage;
  if (layout.virtual_stages == 1) return static_cast<double>(std::min(after + 1, shape.micro_batches));
  std::vector<std::int64_t> layers;
  for (const llm::Chunk& chunk : llm::chunks_of(layout, model, stage)) layers.push_back(chunk.end - chunk.begin);
  const std::int64_t all = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (all == 0) return 0;
  const std::int64_t warm_up = 2 * after + std::int64_t{layout.virtual_stages - 1} * layout.pipeline;
  const std::int64_t most =
      max_layers_held(layers, layout.pipeline, warm_up, shape.micro_batches * layout.virtual_stages);
  return static_cast<double>(most) / static_cast<double>(all);
}

TrainingMemory training_memory(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                               const Conventions& conventions) {
  DOVETAIL_ASSERT(tokens_of_rank(layout, shape) >= 1 && shape.micro_batches >= 1);
  DOVETAIL_ASSERT(shape.in_flight.empty() || shape.in_flight.size() == static_cast<std::size_t>(layout.pipeline));
  const Job job{model, layout, shape, conventions};
  const Kinds kinds = kinds_of(job);
  TrainingMemory memory;
  for (int index = 0; index < layout.pipeline; ++index) {
    const double in_flight = micro_batches_in_flight(model, layout, shape, index);
    const MemoryParts parts = peak_parts(job, kinds, stage_of(job, kinds, index), in_flight);
    memory.stages.push_back({parts, std::llround(conventions.reserved_factor * static_cast<double>(parts.total()))});
    if (parts.total() > memory.peak().allocated()) memory.worst = index;
  }
  return memory;
}

}  // namespace dovetail::cost
