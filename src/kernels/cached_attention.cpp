#include "kernels/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention_tiles.h"
#include "kernels/lanes.h"
#include "kernels/registers.h"

namespace dovetail::kernels {
namespace {

static_assert(attention_block == max_lanes);

/// Computes the products of the queries with the keys of the first `tokens` tokens into rows of scores.
template <int bytes>
[[gnu::always_inline]] inline void score(const MatrixRows<const float>& queries, std::int64_t group,
                                         std::span<const AttentionBlock> blocks, std::int64_t tokens,
                                         const MatrixRows<float>& scores) {
  std::int64_t done = 0;
  for (std::size_t b = 0; done < tokens; ++b) {
    // If the previous block is not full, this one overwrites the rest of its scores.
    for (std::int64_t q = 0; q < group; ++q) std::fill_n(scores.data + q * scores.row + done, attention_block, 0.0F);
    add_product<bytes, float>({queries.data, queries.row, 1}, {blocks[b].keys, attention_block},
                              {scores.data + done, scores.row}, group, attention_block, queries.row);
    done += std::min(blocks[b].tokens, tokens - done);
  }
}

/// Position of a token: its block, and its index in the block.
struct BlockPlace {
  std::size_t block = 0;
  std::int64_t token = 0;  // within the block
};

/// Adds the values of `tokens` tokens from `place` on to `out`, weighted by their shares, and advances `place`.
template <int bytes>
[[gnu::always_inline]] inline void add_values(const MatrixRows<float>& shares, std::int64_t group,
                                              std::span<const AttentionBlock> blocks, std::int64_t tokens,
                                              BlockPlace& place, const MatrixRows<float>& out) {
  for (std::int64_t done = 0; done < tokens;) {
    const AttentionBlock& block = blocks[place.block];
    const std::int64_t here = std::min(block.tokens - place.token, tokens - done);
    add_product<bytes, float>({shares.data + done, shares.row, 1}, {block.values + place.token * out.row, out.row}, out,
                              group, out.row, here);
    done += here;
    place.token += here;
    if (place.token == block.tokens) place = {place.block + 1, 0};
  }
}

/// Working memory for a group of queries.
struct GroupMemory {
  float* queries = nullptr;  // [group, size], divided by sqrt(size)
  MatrixRows<float> scores;  // [group, tokens]
  float* max = nullptr;      // [group]
  float* sums = nullptr;     // [group]
};

template <int bytes>
[[gnu::always_inline]] inline void attend_group(const float* queries, std::int64_t group, std::int64_t size,
                                                std::span<const AttentionBlock> blocks, std::int64_t tokens,
                                                const GroupMemory& memory, float* out) {
  const float factor = 1 / std::sqrt(static_cast<float>(size));
  for (std::int64_t i = 0; i < group * size; ++i) memory.queries[i] = queries[i] * factor;
  score<bytes>({memory.queries, size}, group, blocks, tokens, memory.scores);
  BlockPlace place;
  for (std::int64_t key = 0; key < tokens; key += key_tile) {
    const std::int64_t keys = std::min(key_tile, tokens - key);
    const MatrixRows<float> tile{memory.scores.data + key, memory.scores.row};
    for (std::int64_t q = 0; q < group; ++q)
      fold_scores<bytes>(tile.data + q * tile.row, keys, filled_up(keys, max_lanes), memory.max[q], memory.sums[q],
                         out + q * size, size);
    add_values<bytes>(tile, group, blocks, keys, place, {out, size});
  }
  for (std::int64_t q = 0; q < group; ++q) {
    const float share = 1 / memory.sums[q];
    for (std::int64_t i = 0; i < size; ++i) out[q * size + i] *= share;
  }
}

}  // namespace

void attend(const float* queries, std::int64_t group, std::int64_t size, std::span<const AttentionBlock> blocks,
            std::int64_t tokens, std::vector<float>& scratch, float* out) {
  // A block is scored as a whole, beyond its last token.
  const std::int64_t row = tokens + attention_block;
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(group * (size + row + 2))));
  float* const scores = scratch.data() + group * size;
  float* const max = scores + group * row;
  const GroupMemory memory{scratch.data(), {scores, row}, max, max + group};
  std::fill_n(memory.max, group, -std::numeric_limits<float>::infinity());
  std::fill_n(memory.sums, group, 0.0F);
  std::fill_n(out, group * size, 0.0F);
  run_on_best_registers([=](auto bytes) __attribute__((always_inline)) {
    attend_group<bytes>(queries, group, size, blocks, tokens, memory, out);
  });
}

}  // namespace dovetail::kernels
