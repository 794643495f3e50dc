// Products of rows with a matrix of weights. The result of a row never depends on the other rows.
#pragma once

#include <cstdint>

namespace dovetail::kernels {

/// Operands of x w^T + b: x [rows, inputs], w [outputs, inputs] as in Hugging Face, b [outputs] or null, and the result
/// [rows, outputs]. All are dense and row-major.
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

/// Computes the outputs [begin, end) of all rows. Each number is summed over its inputs in the lanes of a register,
/// then over the lanes, then the bias is added. So it has the same bits whatever the other rows and outputs, which
/// libraries for matrix products do not guarantee. The weights are read once per 64 rows.
void multiply(const Linear& linear, std::int64_t begin, std::int64_t end);
void multiply(const LinearOf<double>& linear, std::int64_t begin, std::int64_t end);

}  // namespace dovetail::kernels
