// The peak memory of training a model under a layout, stage by stage, in parts that add up.
//
// What is always there (weights, gradients, optimizer), what micro-batches in flight keep (training_memory_layer.h),
// and the larger of two moments: the loss of a micro-batch on the last stage, when its logits exist, and the backward
// of a layer, when gradients of activations and what is computed again exist. How a framework goes about it is in
// conventions.h. How close this comes to measured runs is in docs/accuracy.md; the memory of the CUDA context and of
// NCCL, outside the framework's allocator, is not in it.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/conventions.h"
#include "cost/training_memory_layer.h"
#include "llm/layout.h"
#include "llm/transformer.h"

namespace dovetail::cost {

/// Bytes at one moment on one device, by what they are for.
struct MemoryParts {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;    ///< moments and master weights
  std::int64_t activations = 0;  ///< of micro-batches in flight
  std::int64_t logits = 0;       ///< with the inputs of the head; 0 where the peak is not at the loss
  std::int64_t gathered =
      0;  ///< weights that ZeRO 3 has gathered for use, and their gradients before they are scattered
  std::int64_t workspace =
      0;  ///< of a layer's backward, with what is computed again; dummy gradients; the framework's overhead

  std::int64_t total() const { return weights + gradients + optimizer + activations + logits + gathered + workspace; }
};

/// What the rank with the most parameters of stage `stage` holds between steps: weights, optimizer, gradients unless
/// they are fleeting, and as workspace dummy gradients and overhead. With nothing sharded, bytes a parameter times the
/// sum over llm::tensors_of_rank of the padded model.
MemoryParts static_memory(const llm::Transformer& model, const llm::Layout& layout, const Conventions& conventions,
                          int stage);

/// The same of the stage that holds the most.
MemoryParts max_static_memory(const llm::Transformer& model, const llm::Layout& layout, const Conventions& conventions);

/// What ZeRO 3 has gathered at once of the stage with the most in a forward pass without a backward: 0 without it.
std::int64_t gathered_in_forward(const llm::Transformer& model, const llm::Layout& layout,
                                 const Conventions& conventions);

/// Micro-batches whose activations stage `stage` holds at its peak. 1F1B: min(stages - stage, micro-batches).
/// Interleaved: passes through its chunks, 2 (stages - stage - 1) + (chunks - 1) stages + 1 of them (Megatron-LM, arXiv
/// 2104.04473), each a part of a micro-batch by the chunk's layers. GPipe: all. The shape's in_flight goes before these
/// rules.
double micro_batches_in_flight(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                               int stage);

/// The peak of one stage.
struct StageMemory {
  MemoryParts parts;
  std::int64_t reserved =
      0;  ///< what the allocator holds of the device for that peak; 0 where the framework's factor is not known

  std::int64_t allocated() const { return parts.total(); }
};

/// The peaks of all stages.
struct TrainingMemory {
  std::vector<StageMemory> stages;
  int worst = 0;  ///< the stage with the highest peak, the first of equals

  const StageMemory& peak() const { return stages[static_cast<std::size_t>(worst)]; }
};

/// REQUIRES: llm::find_fault finds nothing in model and layout; a sequence length (or packed tokens), sequences and
/// micro-batches of at least 1; in_flight empty or a value a stage.
TrainingMemory training_memory(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                               const Conventions& conventions);

}  // namespace dovetail::cost
