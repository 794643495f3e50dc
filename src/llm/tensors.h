// Every weight of a transformer with its shape, and which part of it a tensor-parallel rank holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/transformer.h"

namespace dovetail::llm {

/// How tensor parallelism cuts a matrix (Megatron-LM, arXiv 1909.08053): not at all, by rows (the output of the
/// projection, "column parallel" in Megatron's words), or by columns (its input, "row parallel").
enum class Split { whole, rows, columns };

/// Where a tensor belongs: before the first layer, in one, or behind the last.
enum class Part { embedding, layer, final_norm, head };

/// A weight. A vector has one column.
struct Tensor {
  std::string name;  ///< as in a Hugging Face checkpoint: "model.layers.3.self_attn.q_proj.weight"
  Part part = Part::layer;
  std::int64_t layer = -1;  ///< where part is Part::layer
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  Split split = Split::whole;
  std::int64_t unit = 1;     ///< so many rows (columns) stay together: those of a head
  std::int64_t expert = -1;  ///< which expert it belongs to; -1 where tokens are not routed to it
  bool adapter = false;      ///< of LoRA: what is trained where there are adapters
  bool tied = false;  ///< the same memory as another tensor, where both are on one device; counted once in parameters

  std::int64_t elements() const { return rows * columns; }
};

/// All tensors of the model, embedding first, then layer by layer, then the last norm and the head.
std::vector<Tensor> tensors_of(const Transformer& model);

/// Those of one layer, of the embedding, and of what stands behind the last layer.
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

/// What rank `rank` of `ranks` holds of `tensor` where its split alone decides (experts that live elsewhere are the
/// layout's affair). Units are dealt out evenly, the first ranks one more where they do not divide; with fewer units
/// than ranks (key-value heads) each rank holds one, the same as its neighbours. REQUIRES: 0 <= rank < ranks.
Slice slice_of(const Tensor& tensor, std::int64_t ranks, std::int64_t rank);

}  // namespace dovetail::llm
