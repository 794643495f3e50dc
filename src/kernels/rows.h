// The other operators of a transformer's forward on rows of numbers. Each number of a result hangs on its own row
// alone.
#pragma once

#include <cstdint>

namespace dovetail::kernels {

/// x / sqrt(mean of x^2 + epsilon) * scale of each of `rows` rows of `size` numbers (Zhang and Sennrich 2019, arXiv
/// 1910.07467). The mean is in double precision.
void normalize(const float* x, const float* scale, std::int64_t rows, std::int64_t size, double epsilon, float* out);

/// Turns the pairs (i, i + size / 2) of `heads` heads of `size` numbers by the angles whose cosines and sines are
/// given, size / 2 of each.
void rotate(float* x, std::int64_t heads, std::int64_t size, const float* cosines, const float* sines);

/// silu(gate) * up, into gate.
void gate(float* gates, const float* up, std::int64_t count);

}  // namespace dovetail::kernels
