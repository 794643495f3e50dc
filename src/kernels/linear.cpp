#include "kernels/linear.h"

#include <algorithm>

#include "kernels/lanes.h"

namespace dovetail::kernels {
namespace {

/// Rows whose inputs stay in the cache while all weights pass.
constexpr std::int64_t rows_at_once = 64;

/// The products of Rows rows with Outputs rows of weights: so many sums are in registers. Fetches the numbers at
/// `ahead` meanwhile, as many as there are inputs.
template <std::int64_t Rows, std::int64_t Outputs>
[[gnu::always_inline]] inline void multiply_tile(const Linear& linear, std::int64_t row, std::int64_t output,
                                                 const float* ahead) {
  const std::int64_t inputs = linear.inputs;
  const float* const x = linear.x + row * inputs;
  const float* const weight = linear.weight + output * inputs;
  Lanes sums[std::size_t{Rows}][std::size_t{Outputs}] = {};
  const auto add = [&](auto load_at) __attribute__((always_inline)) {
    Lanes weights[std::size_t{Outputs}];
    for (std::int64_t j = 0; j < Outputs; ++j) load_at(weight + j * inputs, weights[j]);
    for (std::int64_t i = 0; i < Rows; ++i) {
      Lanes values;
      load_at(x + i * inputs, values);
      for (std::int64_t j = 0; j < Outputs; ++j) sums[i][j] += values * weights[j];
    }
  };
  std::int64_t at = 0;
  for (; at + lane_count <= inputs; at += lane_count) {
    __builtin_prefetch(ahead + at);
    add([at](const float* from, Lanes& lanes) __attribute__((always_inline)) { load(from + at, lanes); });
  }
  if (at < inputs)
    add([at, inputs](const float* from, Lanes& lanes)
            __attribute__((always_inline)) { load_some(from + at, inputs - at, lanes); });
  for (std::int64_t i = 0; i < Rows; ++i)
    for (std::int64_t j = 0; j < Outputs; ++j) {
      const float bias = linear.bias == nullptr ? 0 : linear.bias[output + j];
      linear.out[(row + i) * linear.outputs + output + j] = sum_of(sums[i][j]) + bias;
    }
}

/// All rows [row, end) with Outputs rows of weights.
template <std::int64_t Outputs>
[[gnu::always_inline]] inline void multiply_rows(const Linear& linear, std::int64_t row, std::int64_t end,
                                                 std::int64_t output) {
  // Each tile fetches a row of the weights that come next: they lie in memory, and these in the cache.
  const std::int64_t last = linear.outputs - 1;
  std::int64_t next = output + Outputs;
  const auto ahead = [&] { return linear.weight + std::min(last, next++) * linear.inputs; };
  for (; row + 4 <= end; row += 4) multiply_tile<4, Outputs>(linear, row, output, ahead());
  for (; row + 2 <= end; row += 2) multiply_tile<2, Outputs>(linear, row, output, ahead());
  if (row < end) multiply_tile<1, Outputs>(linear, row, output, ahead());
}

DOVETAIL_CLONES void multiply_block(const Linear& linear, std::int64_t row, std::int64_t row_end, std::int64_t output,
                                    std::int64_t output_end) {
  for (; output + 4 <= output_end; output += 4) multiply_rows<4>(linear, row, row_end, output);
  for (; output < output_end; ++output) multiply_rows<1>(linear, row, row_end, output);
}

}  // namespace

void multiply(const Linear& linear, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = 0; row < linear.rows; row += rows_at_once)
    multiply_block(linear, row, std::min(linear.rows, row + rows_at_once), begin, end);
}

}  // namespace dovetail::kernels
