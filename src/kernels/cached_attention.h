// Attention of single queries over keys and values that lie in blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dovetail::kernels {

/// Tokens of a block.
inline constexpr std::int64_t attention_block = 16;

/// Keys and values of one key-value head and some tokens: keys [size, 16], values [16, size]. Only those of the first
/// `tokens` tokens are looked at.
struct AttentionBlock {
  const float* keys = nullptr;
  const float* values = nullptr;
  std::int64_t tokens = 0;
};

/// softmax(q k / sqrt(size)) v of `group` queries, [group, size], over the first `tokens` tokens of the blocks, into
/// out, [group, size]. Each query's numbers are summed token by token in their order, tile by tile as those of a whole
/// sequence are (kernels/sequence_attention.h): the same bits as there, whoever else is asked, and however the tokens
/// came there. `scratch` is made as large as it must be. REQUIRES: tokens >= 1, as many in the blocks at least.
void attend(const float* queries, std::int64_t group, std::int64_t size, std::span<const AttentionBlock> blocks,
            std::int64_t tokens, std::vector<float>& scratch, float* out);

}  // namespace dovetail::kernels
