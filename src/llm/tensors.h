// The weights of a transformer with their shapes, and the slices that tensor-parallel ranks hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/transformer.h"

namespace dovetail::llm {

/// How tensor parallelism splits a matrix (Megatron-LM, arXiv 1909.08053): not at all, by rows (the output of the
/// projection, Megatron's "column parallel"), or by columns (its input, "row parallel").
enum class Split { none, rows, columns };

/// Part of the model that a tensor belongs to. `final_norm` is the norm between the last layer and the head.
enum class TensorPosition { embedding, layer, final_norm, head };

/// A weight. A vector has one column.
struct Tensor {
  std::string name;  ///< as in a Hugging Face checkpoint: "model.layers.3.self_attn.q_proj.weight"
  TensorPosition position = TensorPosition::layer;
  std::int64_t layer = -1;  ///< index of the layer if `position` is `layer`, otherwise -1
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  Split split = Split::none;
  std::int64_t unit = 1;     ///< rows (or columns) that stay together, such as those of a head
  std::int64_t expert = -1;  ///< index of its routed expert; -1 if it is not in one
  bool adapter = false;      ///< LoRA weight; only these are trained if there are any
  bool tied = false;  ///< shares the memory of another tensor if both are on one device; not counted as parameters

  std::int64_t elements() const { return rows * columns; }
};

/// Returns all tensors of the model: the embedding, the layers, the last norm and the head.
std::vector<Tensor> tensors_of(const Transformer& model);

/// Return the tensors of one layer, of the embedding, and of the head with the norm before it.
std::vector<Tensor> layer_tensors(const Transformer& model, std::int64_t layer);
std::vector<Tensor> embedding_tensors(const Transformer& model);
std::vector<Tensor> head_tensors(const Transformer& model);

/// A rectangle of a tensor: rows [row_begin, row_end) and columns [column_begin, column_end).
struct Slice {
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t column_begin = 0;
  std::int64_t column_end = 0;

  std::int64_t elements() const { return (row_end - row_begin) * (column_end - column_begin); }
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// Returns the slice of `tensor` that tensor-parallel rank `rank` of `ranks` holds. Ignores expert parallelism. Units
/// are divided evenly, with the remainder on the first ranks. If there are fewer units than ranks, as with key-value
/// heads, neighboring ranks hold the same unit. REQUIRES: 0 <= rank < ranks.
Slice slice_of(const Tensor& tensor, std::int64_t ranks, std::int64_t rank);

}  // namespace dovetail::llm
