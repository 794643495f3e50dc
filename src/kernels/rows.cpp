#include "kernels/rows.h"

#include <cmath>

#include "kernels/exponential.h"
#include "kernels/lanes.h"

namespace dovetail::kernels {
namespace {

/// In eight sums, added up in their order.
DOVETAIL_CLONES double sum_of_squares(const float* x, std::int64_t size) {
  constexpr std::int64_t parts = 8;
  double sums[parts] = {};
  std::int64_t at = 0;
  for (; at + parts <= size; at += parts)
    for (std::int64_t i = 0; i < parts; ++i) sums[i] += static_cast<double>(x[at + i]) * static_cast<double>(x[at + i]);
  for (; at < size; ++at) sums[0] += static_cast<double>(x[at]) * static_cast<double>(x[at]);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

DOVETAIL_CLONES void scale_row(const float* x, const float* scale, float root, std::int64_t size, float* out) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = x[i] * root * scale[i];
}

}  // namespace

void normalize(const float* x, const float* scale, std::int64_t rows, std::int64_t size, double epsilon, float* out) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const double mean = sum_of_squares(x + row * size, size) / static_cast<double>(size);
    scale_row(x + row * size, scale, static_cast<float>(1 / std::sqrt(mean + epsilon)), size, out + row * size);
  }
}

DOVETAIL_CLONES void rotate(float* x, std::int64_t heads, std::int64_t size, const float* cosines, const float* sines) {
  const std::int64_t half = size / 2;
  for (std::int64_t head = 0; head < heads; ++head) {
    float* const first = x + head * size;
    float* const second = first + half;
    for (std::int64_t i = 0; i < half; ++i) {
      const float a = first[i];
      const float b = second[i];
      first[i] = a * cosines[i] - b * sines[i];
      second[i] = b * cosines[i] + a * sines[i];
    }
  }
}

DOVETAIL_CLONES void gate(float* gates, const float* up, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) gates[i] = gates[i] / (1 + exponential(-gates[i])) * up[i];
}

}  // namespace dovetail::kernels
