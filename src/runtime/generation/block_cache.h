// The keys and values of what is being generated, in blocks of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llm/transformer.h"
#include "runtime/model/tensor.h"

namespace dovetail::runtime {

/// Blocks of one pool, each with the keys and values of so many tokens in all layers. Which are free is known here;
/// how many may be taken is the scheduler's affair.
class BlockCache {
 public:
  BlockCache(const llm::Transformer& shape, std::int64_t blocks, std::int64_t block_tokens, at::TensorOptions options);

  /// Bytes of one block.
  static std::int64_t block_bytes(const llm::Transformer& shape, std::int64_t block_tokens, std::int64_t number_bytes);

  std::int64_t block_tokens() const { return block_tokens_; }
  /// REQUIRES: one is free.
  std::int64_t take();
  void give_back(const std::vector<std::int64_t>& blocks);

  /// Of a layer: keys [block, key-value head, size, token], so that a query is multiplied with all tokens of a block at
  /// once; values [block, key-value head, token, size].
  Tensor keys(std::int64_t layer) const { return keys_.select(0, layer); }
  Tensor values(std::int64_t layer) const { return values_.select(0, layer); }

 private:
  std::int64_t block_tokens_;
  Tensor keys_;  // [layer, block, ...]
  Tensor values_;
  std::vector<std::int64_t> free_;  // the next one last
};

/// Where the tokens of a sequence lie: its prompt in whole blocks, which others may share, what it decodes behind them
/// in blocks of its own.
struct BlockTable {
  std::int64_t prompt_tokens = 0;
  std::vector<std::int64_t> prompt;
  std::vector<std::int64_t> own;

  struct Place {
    std::int64_t block = 0;
    std::int64_t token = 0;  ///< in the block
  };
  /// REQUIRES: position's block is there.
  Place place_of(std::int64_t position, std::int64_t block_tokens) const {
    const bool in_prompt = position < prompt_tokens;
    const std::int64_t at = in_prompt ? position : position - prompt_tokens;
    return {(in_prompt ? prompt : own)[static_cast<std::size_t>(at / block_tokens)], at % block_tokens};
  }
};

}  // namespace dovetail::runtime
