#include "kernels/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/exponential.h"
#include "kernels/lanes.h"
#include "kernels/registers.h"
#include "kernels/tiles.h"

namespace dovetail::kernels {
namespace {

static_assert(attention_block == max_lanes);

/// Makes scores to shares of the largest one, and gives their sum. `scores` go on up to a multiple of max_lanes.
template <int bytes>
[[gnu::always_inline]] inline float to_shares(float* scores, std::int64_t tokens, float scale) {
  const std::int64_t filled = filled_up(tokens, max_lanes);
  std::fill(scores + tokens, scores + filled, -std::numeric_limits<float>::infinity());
  const float max = max_of<bytes>(scores, filled);
  for (std::int64_t t = 0; t < filled; ++t) scores[t] = exponential((scores[t] - max) * scale);
  return total_of<bytes>(scores, filled);
}

template <int bytes>
[[gnu::always_inline]] inline void attend_group(const float* queries, std::int64_t group, std::int64_t size,
                                                std::span<const AttentionBlock> blocks, std::int64_t tokens,
                                                const MatrixRows<float>& scores, float* out) {
  std::int64_t done = 0;
  for (std::size_t b = 0; done < tokens; ++b) {
    // Where the block before has fewer tokens, this one's come over what stands there.
    for (std::int64_t q = 0; q < group; ++q) std::fill_n(scores.data + q * scores.row + done, attention_block, 0.0F);
    add_product<bytes, float>({queries, size, 1}, {blocks[b].keys, attention_block}, {scores.data + done, scores.row},
                              group, attention_block, size);
    done += std::min(blocks[b].tokens, tokens - done);
  }
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  float* const sums = scores.data + group * scores.row;
  for (std::int64_t q = 0; q < group; ++q) sums[q] = to_shares<bytes>(scores.data + q * scores.row, tokens, scale);
  done = 0;
  for (std::size_t b = 0; done < tokens; ++b) {
    const std::int64_t here = std::min(blocks[b].tokens, tokens - done);
    add_product<bytes, float>({scores.data + done, scores.row, 1}, {blocks[b].values, size}, {out, size}, group, size,
                              here);
    done += here;
  }
  for (std::int64_t q = 0; q < group; ++q)
    for (std::int64_t i = 0; i < size; ++i) out[q * size + i] /= sums[q];
}

}  // namespace

void attend(const float* queries, std::int64_t group, std::int64_t size, std::span<const AttentionBlock> blocks,
            std::int64_t tokens, std::vector<float>& scratch, float* out) {
  // A block is scored whole, beyond what it has of the first tokens.
  const std::int64_t row = tokens + attention_block;
  const std::int64_t count = group * (row + 1);
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(count)));
  std::fill_n(out, group * size, 0.0F);
  const MatrixRows<float> scores{scratch.data(), row};
  run_on_best_registers([=](auto bytes) __attribute__((always_inline)) {
    attend_group<bytes>(queries, group, size, blocks, tokens, scores, out);
  });
}

}  // namespace dovetail::kernels
