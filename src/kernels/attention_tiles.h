// Building blocks of the attention kernels for whole sequences and for cached keys: products of small matrices,
// accumulated in tiles of registers, and a running softmax over tiles of scores. Both kernels are built from these, so
// they compute the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/lanes.h"

namespace dovetail::kernels {

/// A strided matrix: element (i, j) is data[i * row + j * column].
template <class Number>
struct Matrix {
  const Number* data = nullptr;
  std::int64_t row = 0;
  std::int64_t column = 1;
};

/// A matrix of contiguous rows: element (i, j) is data[i * row + j].
template <class Number>
struct MatrixRows {
  Number* data = nullptr;
  std::int64_t row = 0;
};

/// Computes c += a b for `rows` rows and `registers` registers of columns.
template <int bytes, std::int64_t rows, std::int64_t registers, class Number>
[[gnu::always_inline]] inline void add_tile(const Matrix<Number>& a, const MatrixRows<const Number>& b,
                                            const MatrixRows<Number>& c, std::int64_t inner) {
  constexpr std::int64_t lanes = lane_count<Number, bytes>;
  Lanes<Number, bytes> sums[std::size_t{rows}][std::size_t{registers}];
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < registers; ++j) load(c.data + i * c.row + j * lanes, sums[i][j]);
  for (std::int64_t p = 0; p < inner; ++p) {
    Lanes<Number, bytes> of_b[std::size_t{registers}];
    for (std::int64_t j = 0; j < registers; ++j) load(b.data + p * b.row + j * lanes, of_b[j]);
    for (std::int64_t i = 0; i < rows; ++i) {
      const Number factor = a.data[i * a.row + p * a.column];
      for (std::int64_t j = 0; j < registers; ++j) sums[i][j] += of_b[j] * factor;
    }
  }
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < registers; ++j) store(sums[i][j], c.data + i * c.row + j * lanes);
}

template <int bytes, std::int64_t registers, class Number>
[[gnu::always_inline]] inline void add_columns(Matrix<Number> a, const MatrixRows<const Number>& b,
                                               MatrixRows<Number> c, std::int64_t rows, std::int64_t inner) {
  constexpr std::int64_t tile = 4;
  for (; rows >= tile; rows -= tile) {
    add_tile<bytes, tile, registers>(a, b, c, inner);
    a.data += tile * a.row;
    c.data += tile * c.row;
  }
  if (rows == 3) add_tile<bytes, 3, registers>(a, b, c, inner);
  if (rows == 2) add_tile<bytes, 2, registers>(a, b, c, inner);
  if (rows == 1) add_tile<bytes, 1, registers>(a, b, c, inner);
}

/// Computes c += a b for `columns` columns, fewer than a register has lanes. Uses vector arithmetic too, because the
/// compiler may vectorize a scalar loop into sums with different rounding.
template <int bytes, class Number>
[[gnu::always_inline]] inline void add_last_columns(const Matrix<Number>& a, const MatrixRows<const Number>& b,
                                                    const MatrixRows<Number>& c, std::int64_t rows,
                                                    std::int64_t columns, std::int64_t inner) {
  for (std::int64_t i = 0; i < rows; ++i) {
    Lanes<Number, bytes> sums;
    load_some(c.data + i * c.row, columns, sums);
    for (std::int64_t p = 0; p < inner; ++p) {
      Lanes<Number, bytes> of_b;
      load_some(b.data + p * b.row, columns, of_b);
      sums += of_b * a.data[i * a.row + p * a.column];
    }
    store_some(sums, columns, c.data + i * c.row);
  }
}

/// Computes c [rows, columns] += a [rows, inner] b [inner, columns]. Each element of c adds its products one by one in
/// order, so it has the same bits regardless of the other rows and columns.
template <int bytes, class Number>
[[gnu::always_inline]] inline void add_product(const Matrix<Number>& a, const MatrixRows<const Number>& b,
                                               const MatrixRows<Number>& c, std::int64_t rows, std::int64_t columns,
                                               std::int64_t inner) {
  // The sums fill half of the registers: 16 of 32 with AVX-512, 8 of 16 with AVX2 and older.
  constexpr std::int64_t registers = bytes == 64 ? 4 : 2;
  constexpr std::int64_t lanes = lane_count<Number, bytes>;
  std::int64_t at = 0;
  for (; at + registers * lanes <= columns; at += registers * lanes)
    add_columns<bytes, registers, Number>(a, {b.data + at, b.row}, {c.data + at, c.row}, rows, inner);
  for (; at + lanes <= columns; at += lanes)
    add_columns<bytes, 1, Number>(a, {b.data + at, b.row}, {c.data + at, c.row}, rows, inner);
  if (at < columns)
    add_last_columns<bytes, Number>(a, {b.data + at, b.row}, {c.data + at, c.row}, rows, columns - at, inner);
}

/// Number of keys of a tile. The first tile begins with the first key of a sequence.
inline constexpr std::int64_t key_tile = 64;

/// Adds a tile of scores to a running softmax (Milakov and Gimelshein 2018, arXiv 1805.02867). Replaces the first
/// `visible` scores by exp(score - max), with the updated `max`, and the others, up to `columns`, by 0. `columns` is a
/// multiple of max_lanes.
///
/// `max` is the maximum score so far (initially -infinity), `sum` the sum of the exponentials (initially 0), and `out`,
/// [width], the sum of the values weighted by the exponentials. Updates `max` and `sum` for this tile. If the maximum
/// grows, `sum` and `out` are first rescaled to the new one. The caller then adds the tile's weighted values to `out`.
template <int bytes, class Number>
[[gnu::always_inline]] inline void fold_scores(Number* scores, std::int64_t visible, std::int64_t columns, Number& max,
                                               Number& sum, Number* out, std::int64_t width) {
  std::fill(scores + visible, scores + columns, -std::numeric_limits<Number>::infinity());
  const Number before = max;
  const Number now = std::max(before, max_of<bytes>(scores, columns));
  for (std::int64_t k = 0; k < columns; ++k) scores[k] = exponential(scores[k] - now);
  const Number of_tile = total_of<bytes>(scores, columns);
  if (now == before) {
    sum += of_tile;
    return;
  }
  const Number factor = exponential(before - now);
  max = now;
  sum = sum * factor + of_tile;
  for (std::int64_t i = 0; i < width; ++i) out[i] *= factor;
}

}  // namespace dovetail::kernels
