// Products of rows with a matrix of weights, of which a row's result never hangs on the other rows.
#pragma once

#include <cstdint>

namespace dovetail::kernels {

/// What x w^T + b is made of: x [rows, inputs], w [outputs, inputs] as Hugging Face has it, b [outputs] or null, the
/// result [rows, outputs]. All row after row without gaps.
template <class Number>
struct LinearOf {
  const Number* x = nullptr;
  const Number* weight = nullptr;
  const Number* bias = nullptr;
  Number* out = nullptr;
  std::int64_t rows = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};
using Linear = LinearOf<float>;

/// Computes the outputs [begin, end) of all rows. A number is the sum over its inputs in the lanes of a register, then
/// of the lanes, then of the bias: the same bits whatever other rows and outputs there are, which no library of matrix
/// products promises. The weights are read once for 64 rows.
void multiply(const Linear& linear, std::int64_t begin, std::int64_t end);
void multiply(const LinearOf<double>& linear, std::int64_t begin, std::int64_t end);

}  // namespace dovetail::kernels
