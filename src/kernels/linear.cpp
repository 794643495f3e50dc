#include <algorithm>

#include "kernels/lanes.h"
#include "kernels/registers.h"
#include "kernels/rows.h"

namespace dovetail::kernels {
namespace {

/// Rows whose inputs stay in the cache while all weights are read.
constexpr std::int64_t rows_at_once = 64;

/// Adds the products of the inputs that load_at loads to the sums of a tile.
template <int bytes, std::int64_t rows, std::int64_t outputs, class Number, class Load>
[[gnu::always_inline]] inline void add_inputs(const Number* x, const Number* weight, std::int64_t inputs,
                                              Lanes<Number, bytes>* sums, Load load_at) {
  Lanes<Number, bytes> weights[std::size_t{outputs}];
  for (std::int64_t j = 0; j < outputs; ++j) load_at(weight + j * inputs, weights[j]);
  for (std::int64_t i = 0; i < rows; ++i) {
    Lanes<Number, bytes> values;
    load_at(x + i * inputs, values);
    for (std::int64_t j = 0; j < outputs; ++j) sums[i * outputs + j] += values * weights[j];
  }
}

/// Multiplies `rows` rows by `outputs` rows of weights, with all sums in registers. Meanwhile prefetches the row at
/// `ahead`.
template <int bytes, std::int64_t rows, std::int64_t outputs, class Number>
[[gnu::always_inline]] inline void multiply_tile(const LinearOf<Number>& linear, std::int64_t row, std::int64_t output,
                                                 const Number* ahead) {
  using Vector = Lanes<Number, bytes>;
  constexpr std::int64_t lanes = lane_count<Number, bytes>;
  const std::int64_t inputs = linear.inputs;
  const Number* const x = linear.x + row * inputs;
  const Number* const weight = linear.weight + output * inputs;
  Vector sums[std::size_t{filled_up(rows * outputs, lanes)}] = {};
  std::int64_t at = 0;
  for (; at + lanes <= inputs; at += lanes) {
    __builtin_prefetch(ahead + at);
    add_inputs<bytes, rows, outputs>(x, weight, inputs, sums,
                                     [at](const Number* from, Vector& to)
                                         __attribute__((always_inline)) { load(from + at, to); });
  }
  if (at < inputs)
    add_inputs<bytes, rows, outputs>(x, weight, inputs, sums,
                                     [at, inputs](const Number* from, Vector& to)
                                         __attribute__((always_inline)) { load_some(from + at, inputs - at, to); });
  Number totals[std::size_t{filled_up(rows * outputs, lanes)}];
  for (std::int64_t i = 0; i < rows * outputs; i += lanes) {
    add_up_each<lanes>(sums + i);
    store(sums[i], totals + i);
  }
  using Outputs = Lanes<Number, static_cast<int>(outputs * static_cast<std::int64_t>(sizeof(Number)))>;
  Outputs bias = {};
  if (linear.bias != nullptr) load(linear.bias + output, bias);
  for (std::int64_t i = 0; i < rows; ++i) {
    Outputs sum;
    load(totals + i * outputs, sum);
    store(sum + bias, linear.out + (row + i) * linear.outputs + output);
  }
}

/// Outputs computed for a tile of rows while its inputs are in the L1 cache.
constexpr std::int64_t outputs_at_once = 8;

/// Computes the outputs [begin, end) of a tile of rows, whose weights are in the cache. `next` is the row of weights to
/// prefetch from memory.
template <int bytes, std::int64_t rows, class Number>
[[gnu::always_inline]] inline void multiply_rows(const LinearOf<Number>& linear, std::int64_t row, std::int64_t begin,
                                                 std::int64_t end, std::int64_t& next) {
  const auto ahead = [&] { return linear.weight + std::min(linear.outputs - 1, next++) * linear.inputs; };
  for (; begin + 4 <= end; begin += 4) multiply_tile<bytes, rows, 4>(linear, row, begin, ahead());
  for (; begin < end; ++begin) multiply_tile<bytes, rows, 1>(linear, row, begin, ahead());
}

template <int bytes, class Number>
[[gnu::always_inline]] inline void multiply_block(const LinearOf<Number>& linear, std::int64_t row,
                                                  std::int64_t row_end, std::int64_t begin, std::int64_t end) {
  // Sixteen sums fill half of the registers of AVX-512, eight sums half of those with AVX2 and older.
  constexpr std::int64_t rows = bytes == 64 ? 4 : 2;
  std::int64_t next = end;
  for (; row + rows <= row_end; row += rows) multiply_rows<bytes, rows>(linear, row, begin, end, next);
  if constexpr (rows == 4)
    for (; row + 2 <= row_end; row += 2) multiply_rows<bytes, 2>(linear, row, begin, end, next);
  if (row < row_end) multiply_rows<bytes, 1>(linear, row, begin, end, next);
}

template <class Number>
void multiply_outputs(const LinearOf<Number>& linear, std::int64_t begin, std::int64_t end) {
  run_on_best_registers([=](auto bytes) __attribute__((always_inline)) {
    for (std::int64_t row = 0; row < linear.rows; row += rows_at_once)
      for (std::int64_t output = begin; output < end; output += outputs_at_once)
        multiply_block<bytes>(linear, row, std::min(linear.rows, row + rows_at_once), output,
                              std::min(end, output + outputs_at_once));
  });
}

}  // namespace

void multiply(const Linear& linear, std::int64_t begin, std::int64_t end) { multiply_outputs(linear, begin, end); }
void multiply(const LinearOf<double>& linear, std::int64_t begin, std::int64_t end) {
  multiply_outputs(linear, begin, end);
}

}  // namespace dovetail::kernels
