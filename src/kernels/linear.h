// Products of rows with a matrix of weights, of which a row's result never hangs on the other rows.
#pragma once

#include <cstdint>

namespace dovetail::kernels {

/// What x w^T + b is made of: x [rows, inputs], w [outputs, inputs] as Hugging Face has it, b [outputs] or null, the
/// result [rows, outputs]. All row after row without gaps.
struct Linear {
  const float* x = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* out = nullptr;
  std::int64_t rows = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

/// Computes the outputs [begin, end) of all rows. A number is the sum over its inputs in sixteen lanes, then of the
/// lanes, then of the bias: the same bits whatever other rows and outputs there are, which no library of matrix
/// products promises. The weights are read once for 64 rows.
void multiply(const Linear& linear, std::int64_t begin, std::int64_t end);

}  // namespace dovetail::kernels
