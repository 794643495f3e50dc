#include "kernels/cached_attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/exponential.h"
#include "kernels/lanes.h"

namespace dovetail::kernels {
namespace {

static_assert(attention_block == lane_count);

/// Scores of one query with the sixteen tokens of a block.
DOVETAIL_CLONES void score_block(const float* query, std::int64_t size, float scale, const float* keys, float* scores) {
  Lanes sums = {};
  for (std::int64_t i = 0; i < size; ++i) {
    Lanes of_tokens;
    load(keys + i * lane_count, of_tokens);
    sums += of_tokens * query[i];
  }
  sums *= scale;
  store(sums, scores);
}

/// Makes scores to shares of the largest one, and gives their sum.
DOVETAIL_CLONES float to_shares(float* scores, std::int64_t tokens) {
  const float max = *std::max_element(scores, scores + tokens);
  for (std::int64_t t = 0; t < tokens; ++t) scores[t] = exponential(scores[t] - max);
  float sum = 0;
  for (std::int64_t t = 0; t < tokens; ++t) sum += scores[t];
  return sum;
}

/// Adds the values of a block's tokens by their shares.
DOVETAIL_CLONES void add_values(const float* shares, std::int64_t tokens, const float* values, std::int64_t size,
                                float* out) {
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < size; ++i) out[i] += shares[t] * values[t * size + i];
}

}  // namespace

void attend(const float* queries, std::int64_t group, std::int64_t size, std::span<const AttentionBlock> blocks,
            std::int64_t tokens, std::vector<float>& scratch, float* out) {
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  // A block is scored whole, behind what its tokens before it have.
  const std::int64_t row = tokens + lane_count;
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(group * row)));
  std::int64_t done = 0;
  for (std::size_t b = 0; done < tokens; ++b) {
    const std::int64_t here = std::min(blocks[b].tokens, tokens - done);
    for (std::int64_t q = 0; q < group; ++q)
      score_block(queries + q * size, size, scale, blocks[b].keys, scratch.data() + q * row + done);
    done += here;
  }
  std::fill_n(out, group * size, 0.0F);
  std::vector<float> sums(static_cast<std::size_t>(group));
  for (std::int64_t q = 0; q < group; ++q)
    sums[static_cast<std::size_t>(q)] = to_shares(scratch.data() + q * row, tokens);
  done = 0;
  for (std::size_t b = 0; done < tokens; ++b) {
    const std::int64_t here = std::min(blocks[b].tokens, tokens - done);
    for (std::int64_t q = 0; q < group; ++q)
      add_values(scratch.data() + q * row + done, here, blocks[b].values, size, out + q * size);
    done += here;
  }
  for (std::int64_t q = 0; q < group; ++q)
    for (std::int64_t i = 0; i < size; ++i) out[q * size + i] /= sums[static_cast<std::size_t>(q)];
}

}  // namespace dovetail::kernels
