// Forward pass of an engine step: computes rows of several sequences, with a KV cache of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llm/transformer.h"
#include "runtime/model/model.h"
#include "runtime/model/tensor.h"

namespace dovetail::runtime {

/// Pool of blocks, each with the keys and values of a fixed number of tokens in all layers. Tracks which blocks are
/// free; the scheduler limits how many are taken.
class BlockCache {
 public:
  BlockCache(const llm::Transformer& shape, std::int64_t blocks, std::int64_t block_tokens, at::TensorOptions options);

  static std::int64_t block_bytes(const llm::Transformer& shape, std::int64_t block_tokens, std::int64_t number_bytes);

  std::int64_t block_tokens() const { return block_tokens_; }
  /// Takes a free block. REQUIRES: a block is free.
  std::int64_t take();
  void release(const std::vector<std::int64_t>& blocks);

  /// Return the keys or values of all blocks in one layer. Keys are [block, key-value head, size, token], so that one
  /// product multiplies a query with all tokens of a block. Values are [block, key-value head, token, size].
  Tensor keys(std::int64_t layer) const { return keys_.select(0, layer); }
  Tensor values(std::int64_t layer) const { return values_.select(0, layer); }

 private:
  std::int64_t block_tokens_;
  Tensor keys_;  // [layer, block, ...]
  Tensor values_;
  std::vector<std::int64_t> free_;  // the last one is taken next
};

/// Cache blocks of a sequence. Blocks of the prompt may be shared with other sequences. Decoded tokens are in separate
/// blocks.
struct BlockTable {
  std::int64_t prompt_tokens = 0;
  std::vector<std::int64_t> prompt;
  std::vector<std::int64_t> own;

  struct Place {
    std::int64_t block = 0;
    std::int64_t token = 0;  ///< index within the block
  };
  /// REQUIRES: the position's block has been taken.
  Place place_of(std::int64_t position, std::int64_t block_tokens) const {
    const bool in_prompt = position < prompt_tokens;
    const std::int64_t at = in_prompt ? position : position - prompt_tokens;
    return {(in_prompt ? prompt : own)[static_cast<std::size_t>(at / block_tokens)], at % block_tokens};
  }
};

/// Rows of one sequence at consecutive positions.
struct StepPart {
  const BlockTable* blocks = nullptr;
  std::int64_t position = 0;  ///< position of the first row in the sequence
  std::int64_t rows = 0;
  bool is_cached = false;  ///< true if the cache already has the keys and values of these rows
};

struct StepRows {
  std::vector<std::int64_t> tokens;
  std::vector<StepPart> parts;           ///< parts in row order
  std::vector<std::int64_t> logit_rows;  ///< indexes of the rows whose logits are needed
};

/// Adds to the cache the keys and values of the rows that are not cached yet. Returns the logits of `rows.logit_rows`,
/// [row, vocabulary], in single precision on the CPU. If the model is also in single precision on the CPU, a row's
/// logits do not depend on the other rows, not even in the last bit, because src/kernels sums each row in a fixed
/// order.
Tensor forward_step(const Model& model, const BlockCache& cache, const StepRows& rows);

}  // namespace dovetail::runtime
