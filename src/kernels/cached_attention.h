// Attention of single queries over cached keys and values that are stored in blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dovetail::kernels {

/// Capacity of an AttentionBlock, in tokens.
inline constexpr std::int64_t attention_block = 16;

/// Keys and values of one key-value head for some tokens: keys [size, 16], values [16, size]. Only the first `tokens`
/// tokens are used.
struct AttentionBlock {
  const float* keys = nullptr;
  const float* values = nullptr;
  std::int64_t tokens = 0;
};

/// Computes softmax(q k / sqrt(size)) v for `group` queries, [group, size], over the first `tokens` tokens of the
/// blocks, into `out`, [group, size]. Grows `scratch` as needed.
///
/// Sums run over tokens and tiles in the same order as for whole sequences (kernels/sequence_attention.h). So both
/// results have the same bits, regardless of the other queries and of how tokens are split into blocks.
/// REQUIRES: tokens >= 1, and the blocks have at least that many.
void attend(const float* queries, std::int64_t group, std::int64_t size, std::span<const AttentionBlock> blocks,
            std::int64_t tokens, std::vector<float>& scratch, float* out);

}  // namespace dovetail::kernels
