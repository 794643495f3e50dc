// A decode step through the model: rows of several sequences, over what the cache holds of them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/generation/block_cache.h"
#include "runtime/model/model.h"
#include "runtime/model/tensor.h"

namespace dovetail::runtime {

/// Rows of one sequence at consecutive positions.
struct StepPart {
  const BlockTable* blocks = nullptr;
  std::int64_t position = 0;  ///< of the first row
  std::int64_t rows = 0;
  bool is_cached = false;  ///< keys and values of these rows are in the cache already
};

struct StepRows {
  std::vector<std::int64_t> tokens;
  std::vector<StepPart> parts;      ///< in the order of the rows
  std::vector<std::int64_t> asked;  ///< rows whose logits are asked for
};

/// Puts keys and values of the rows into the cache, and gives the logits of those that are asked for, [asked,
/// vocabulary], in single precision on the CPU. Where the model is in single precision on the CPU, too, a row's numbers
/// are the same bits whatever other rows there are: each is summed in an order of its own (src/kernels).
Tensor forward_step(const Model& model, const BlockCache& cache, const StepRows& rows);

}  // namespace dovetail::runtime
