#include "kernels/sequence_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention_tiles.h"
#include "kernels/lanes.h"
#include "kernels/registers.h"

namespace dovetail::kernels {
namespace {

constexpr std::int64_t query_tile = 32;

/// Copies rows, multiplied by a factor and padded with zeros.
template <class Number>
[[gnu::always_inline]] inline void copy_rows(const Number* from, std::int64_t stride, std::int64_t rows,
                                             std::int64_t size, Number factor, const MatrixRows<Number>& to) {
  for (std::int64_t t = 0; t < rows; ++t) {
    for (std::int64_t i = 0; i < size; ++i) to.data[t * to.row + i] = from[t * stride + i] * factor;
    std::fill(to.data + t * to.row + size, to.data + (t + 1) * to.row, Number{0});
  }
}

/// Copies the first `size` numbers of rows, multiplied by a factor.
template <class Number>
[[gnu::always_inline]] inline void copy_back(const MatrixRows<const Number>& from, std::int64_t rows, std::int64_t size,
                                             Number factor, Number* to, std::int64_t stride) {
  for (std::int64_t t = 0; t < rows; ++t)
    for (std::int64_t i = 0; i < size; ++i) to[t * stride + i] = from.data[t * from.row + i] * factor;
}

/// Transposes tokens into tiles of key_tile tokens, each [size, key_tile], padded with zeros.
template <class Number>
[[gnu::always_inline]] inline void transpose(const Number* from, std::int64_t stride, std::int64_t tokens,
                                             std::int64_t size, Number* to) {
  std::fill_n(to, filled_up(tokens, key_tile) * size, Number{0});
  for (std::int64_t t = 0; t < tokens; ++t) {
    Number* const tile = to + t / key_tile * key_tile * size;
    for (std::int64_t i = 0; i < size; ++i) tile[i * key_tile + t % key_tile] = from[t * stride + i];
  }
}

/// Position of a tile of scores.
struct TilePlace {
  std::int64_t query = 0;  // first query
  std::int64_t queries = 0;
  std::int64_t key = 0;
  std::int64_t keys = 0;

  std::int64_t columns() const { return filled_up(keys, max_lanes); }
  /// Returns the number of keys of the tile that are visible to its query number r.
  std::int64_t visible(std::int64_t r) const { return std::clamp<std::int64_t>(query + r - key + 1, 0, keys); }
};

template <class Visit>
[[gnu::always_inline]] inline void for_each_key_tile(std::int64_t query, std::int64_t queries, Visit visit) {
  for (std::int64_t key = 0; key < query + queries; key += key_tile)
    visit(TilePlace{query, queries, key, std::min(key_tile, query + queries - key)});
}

/// Allocates arrays from one block of memory.
template <class Number>
struct ScratchMemory {
  Number* next = nullptr;

  Number* take(std::int64_t count) {
    Number* const taken = next;
    next += count;
    return taken;
  }
};

template <class Number>
struct ForwardTiles {
  std::int64_t width = 0;
  Number* keys = nullptr;  // transposed
  MatrixRows<Number> values;
  MatrixRows<Number> queries;
  MatrixRows<Number> out;
  MatrixRows<Number> scores;
  Number* max = nullptr;
  Number* sums = nullptr;

  template <int bytes>
  [[gnu::always_inline]] void add(const TilePlace& place, std::int64_t size) const {
    std::fill_n(scores.data, place.queries * key_tile, Number{0});
    add_product<bytes, Number>({queries.data, width, 1}, {keys + place.key * size, key_tile}, scores, place.queries,
                               place.columns(), size);
    for (std::int64_t r = 0; r < place.queries; ++r)
      fold_scores<bytes>(scores.data + r * scores.row, place.visible(r), place.columns(), max[r], sums[r],
                         out.data + r * out.row, width);
    add_product<bytes, Number>({scores.data, key_tile, 1}, {values.data + place.key * width, width}, out, place.queries,
                               width, place.keys);
  }
};

template <class Number>
std::int64_t width_of(const Sequence<Number>& sequence) {
  return filled_up(sequence.size, max_lanes);
}

template <class Number>
Number score_factor(const Sequence<Number>& sequence) {
  return 1 / std::sqrt(static_cast<Number>(sequence.size));
}

template <class Number>
ForwardTiles<Number> forward_tiles(const Sequence<Number>& sequence, std::vector<Number>& scratch) {
  const std::int64_t width = width_of(sequence);
  const std::int64_t keys = filled_up(sequence.tokens, key_tile) * sequence.size;
  const std::int64_t count = keys + sequence.tokens * width + query_tile * (2 * width + key_tile + 2);
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(count)));
  ScratchMemory<Number> memory{scratch.data()};
  ForwardTiles<Number> tiles;
  tiles.width = width;
  tiles.keys = memory.take(keys);
  tiles.values = {memory.take(sequence.tokens * width), width};
  tiles.queries = {memory.take(query_tile * width), width};
  tiles.out = {memory.take(query_tile * width), width};
  tiles.scores = {memory.take(query_tile * key_tile), key_tile};
  tiles.max = memory.take(query_tile);
  tiles.sums = memory.take(query_tile);
  return tiles;
}

template <int bytes, class Number>
[[gnu::always_inline]] inline void attend_head(const Sequence<Number>& sequence, std::int64_t head,
                                               const ForwardTiles<Number>& tiles, const Heads<Number>& out,
                                               const HeadNumbers<Number>& log_sum_exps) {
  const Number scale = score_factor(sequence);
  const std::int64_t size = sequence.size;
  for (std::int64_t query = 0; query < sequence.tokens; query += query_tile) {
    const std::int64_t queries = std::min(query_tile, sequence.tokens - query);
    copy_rows(sequence.query.data + query * sequence.query.stride + head * size, sequence.query.stride, queries, size,
              scale, tiles.queries);
    std::fill_n(tiles.out.data, queries * tiles.width, Number{0});
    std::fill_n(tiles.max, queries, -std::numeric_limits<Number>::infinity());
    std::fill_n(tiles.sums, queries, Number{0});
    for_each_key_tile(query, queries, [&](const TilePlace& place) __attribute__((always_inline)) {
      tiles.template add<bytes>(place, size);
    });
    for (std::int64_t r = 0; r < queries; ++r) {
      copy_back<Number>({tiles.out.data + r * tiles.width, tiles.width}, 1, size, 1 / tiles.sums[r],
                        out.data + (query + r) * out.stride + head * size, out.stride);
      log_sum_exps.data[head * log_sum_exps.stride + query + r] = tiles.max[r] + std::log(tiles.sums[r]);
    }
  }
}

template <class Number>
struct BackwardTiles {
  std::int64_t width = 0;
  Number* keys_transposed = nullptr;
  Number* values_transposed = nullptr;
  MatrixRows<Number> keys;
  MatrixRows<Number> d_keys;
  MatrixRows<Number> d_values;
  MatrixRows<Number> queries;
  MatrixRows<Number> d_queries;
  MatrixRows<Number> d_out;
  MatrixRows<Number> shares;
  MatrixRows<Number> d_scores;
  Number* along = nullptr;  // sums of d_out * out

  /// Converts scores to probabilities, and derivatives with respect to probabilities to derivatives with respect to
  /// scores.
  [[gnu::always_inline]] void to_slopes(const TilePlace& place, const Number* log_sum_exps) const {
    for (std::int64_t r = 0; r < place.queries; ++r) {
      Number* const share = shares.data + r * shares.row;
      Number* const slope = d_scores.data + r * d_scores.row;
      const std::int64_t visible = place.visible(r);
      const Number log_sum_exp = log_sum_exps[r];
      const Number mean = along[r];
      for (std::int64_t k = 0; k < visible; ++k) share[k] = exponential(share[k] - log_sum_exp);
      for (std::int64_t k = 0; k < visible; ++k) slope[k] = share[k] * (slope[k] - mean);
      std::fill(share + visible, share + place.keys, Number{0});
      std::fill(slope + visible, slope + place.keys, Number{0});
    }
  }

  template <int bytes>
  [[gnu::always_inline]] void add(const TilePlace& place, std::int64_t size, const Number* log_sum_exps) const {
    std::fill_n(shares.data, place.queries * key_tile, Number{0});
    std::fill_n(d_scores.data, place.queries * key_tile, Number{0});
    add_product<bytes, Number>({queries.data, width, 1}, {keys_transposed + place.key * size, key_tile}, shares,
                               place.queries, place.columns(), size);
    add_product<bytes, Number>({d_out.data, width, 1}, {values_transposed + place.key * size, key_tile}, d_scores,
                               place.queries, place.columns(), size);
    to_slopes(place, log_sum_exps);
    const auto at_key = [&](const MatrixRows<Number>& rows) { return rows.data + place.key * width; };
    add_product<bytes, Number>({shares.data, 1, key_tile}, {d_out.data, width}, {at_key(d_values), width}, place.keys,
                               width, place.queries);
    add_product<bytes, Number>({d_scores.data, 1, key_tile}, {queries.data, width}, {at_key(d_keys), width}, place.keys,
                               width, place.queries);
    add_product<bytes, Number>({d_scores.data, key_tile, 1}, {at_key(keys), width}, d_queries, place.queries, width,
                               place.keys);
  }
};

template <class Number>
BackwardTiles<Number> backward_tiles(const Sequence<Number>& sequence, std::vector<Number>& scratch) {
  const std::int64_t width = width_of(sequence);
  const std::int64_t transposed = filled_up(sequence.tokens, key_tile) * sequence.size;
  const std::int64_t rows = sequence.tokens * width;
  const std::int64_t count = 2 * transposed + 3 * rows + query_tile * (3 * width + 2 * key_tile + 1);
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(count)));
  ScratchMemory<Number> memory{scratch.data()};
  BackwardTiles<Number> tiles;
  tiles.width = width;
  tiles.keys_transposed = memory.take(transposed);
  tiles.values_transposed = memory.take(transposed);
  for (MatrixRows<Number>* part : {&tiles.keys, &tiles.d_keys, &tiles.d_values}) *part = {memory.take(rows), width};
  for (MatrixRows<Number>* part : {&tiles.queries, &tiles.d_queries, &tiles.d_out})
    *part = {memory.take(query_tile * width), width};
  for (MatrixRows<Number>* part : {&tiles.shares, &tiles.d_scores})
    *part = {memory.take(query_tile * key_tile), key_tile};
  tiles.along = memory.take(query_tile);
  return tiles;
}

template <int bytes, class Number>
[[gnu::always_inline]] inline void attend_head_backward(const Sequence<Number>& sequence,
                                                        const AttentionResult<Number>& result, std::int64_t head,
                                                        const BackwardTiles<Number>& tiles,
                                                        const Heads<Number>& d_query) {
  const Number scale = score_factor(sequence);
  const std::int64_t size = sequence.size;
  const auto rows_of = [&](const auto& heads, std::int64_t query) {
    return heads.data + query * heads.stride + head * size;
  };
  for (std::int64_t query = 0; query < sequence.tokens; query += query_tile) {
    const std::int64_t queries = std::min(query_tile, sequence.tokens - query);
    copy_rows(rows_of(sequence.query, query), sequence.query.stride, queries, size, scale, tiles.queries);
    copy_rows(rows_of(result.d_out, query), result.d_out.stride, queries, size, Number{1}, tiles.d_out);
    copy_rows(rows_of(result.out, query), result.out.stride, queries, size, Number{1}, tiles.d_queries);
    for (std::int64_t r = 0; r < queries; ++r)
      tiles.along[r] =
          dot<bytes>(tiles.d_out.data + r * tiles.width, tiles.d_queries.data + r * tiles.width, tiles.width);
    std::fill_n(tiles.d_queries.data, queries * tiles.width, Number{0});
    const Number* const log_sum_exps = result.log_sum_exps.data + head * result.log_sum_exps.stride + query;
    for_each_key_tile(query, queries, [&](const TilePlace& place) __attribute__((always_inline)) {
      tiles.template add<bytes>(place, size, log_sum_exps);
    });
    copy_back<Number>({tiles.d_queries.data, tiles.width}, queries, size, scale, rows_of(d_query, query),
                      d_query.stride);
  }
}

}  // namespace

template <class Number>
void attend(const Sequence<Number>& sequence, std::int64_t begin, std::int64_t end, const Heads<Number>& out,
            const HeadNumbers<Number>& log_sum_exps, std::vector<Number>& scratch) {
  const ForwardTiles<Number> tiles = forward_tiles(sequence, scratch);
  run_on_best_registers([=](auto bytes) __attribute__((always_inline)) {
    for (std::int64_t g = begin; g < end; ++g) {
      transpose(sequence.key.data + g * sequence.size, sequence.key.stride, sequence.tokens, sequence.size, tiles.keys);
      copy_rows(sequence.value.data + g * sequence.size, sequence.value.stride, sequence.tokens, sequence.size,
                Number{1}, tiles.values);
      for (std::int64_t head = g * sequence.group; head < (g + 1) * sequence.group; ++head)
        attend_head<bytes>(sequence, head, tiles, out, log_sum_exps);
    }
  });
}

template <class Number>
void attend_backward(const Sequence<Number>& sequence, const AttentionResult<Number>& result, std::int64_t begin,
                     std::int64_t end, const AttentionSlopes<Number>& slopes, std::vector<Number>& scratch) {
  const BackwardTiles<Number> tiles = backward_tiles(sequence, scratch);
  run_on_best_registers([=](auto bytes) __attribute__((always_inline)) {
    const std::int64_t tokens = sequence.tokens;
    const std::int64_t size = sequence.size;
    for (std::int64_t g = begin; g < end; ++g) {
      transpose(sequence.key.data + g * size, sequence.key.stride, tokens, size, tiles.keys_transposed);
      transpose(sequence.value.data + g * size, sequence.value.stride, tokens, size, tiles.values_transposed);
      copy_rows(sequence.key.data + g * size, sequence.key.stride, tokens, size, Number{1}, tiles.keys);
      std::fill_n(tiles.d_keys.data, tokens * tiles.width, Number{0});
      std::fill_n(tiles.d_values.data, tokens * tiles.width, Number{0});
      for (std::int64_t head = g * sequence.group; head < (g + 1) * sequence.group; ++head)
        attend_head_backward<bytes>(sequence, result, head, tiles, slopes.query);
      copy_back<Number>({tiles.d_keys.data, tiles.width}, tokens, size, Number{1}, slopes.key.data + g * size,
                        slopes.key.stride);
      copy_back<Number>({tiles.d_values.data, tiles.width}, tokens, size, Number{1}, slopes.value.data + g * size,
                        slopes.value.stride);
    }
  });
}

template void attend(const Sequence<float>&, std::int64_t, std::int64_t, const Heads<float>&, const HeadNumbers<float>&,
                     std::vector<float>&);
template void attend(const Sequence<double>&, std::int64_t, std::int64_t, const Heads<double>&,
                     const HeadNumbers<double>&, std::vector<double>&);
template void attend_backward(const Sequence<float>&, const AttentionResult<float>&, std::int64_t, std::int64_t,
                              const AttentionSlopes<float>&, std::vector<float>&);
template void attend_backward(const Sequence<double>&, const AttentionResult<double>&, std::int64_t, std::int64_t,
                              const AttentionSlopes<double>&, std::vector<double>&);

}  // namespace dovetail::kernels
