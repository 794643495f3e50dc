#include "runtime/generation/block_cache.h"

#include <ATen/ops/empty.h>

#include "base/assert.h"

namespace dovetail::runtime {

BlockCache::BlockCache(const llm::Transformer& shape, std::int64_t blocks, std::int64_t block_tokens,
                       at::TensorOptions options)
    : block_tokens_(block_tokens) {
  keys_ = at::empty({shape.layers, blocks, shape.key_value_heads, shape.head_size, block_tokens}, options);
  values_ = at::empty({shape.layers, blocks, shape.key_value_heads, block_tokens, shape.head_size}, options);
  for (std::int64_t block = blocks; block-- > 0;) free_.push_back(block);
}

std::int64_t BlockCache::block_bytes(const llm::Transformer& shape, std::int64_t block_tokens,
                                     std::int64_t number_bytes) {
  return 2 * shape.layers * shape.key_value_heads * block_tokens * shape.head_size * number_bytes;
}

std::int64_t BlockCache::take() {
  DOVETAIL_ASSERT(!free_.empty());
  const std::int64_t block = free_.back();
  free_.pop_back();
  return block;
}

void BlockCache::give_back(const std::vector<std::int64_t>& blocks) {
  free_.insert(free_.end(), blocks.rbegin(), blocks.rend());
}

}  // namespace dovetail::runtime
