#include "runtime/model/ops.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <vector>

#include "llm/computation.h"
#include "runtime/model/products.h"

namespace dovetail::runtime {

Tensor project(const Linear& linear, const Tensor& x) { return operators_for(x).project(linear, x); }

void add_weight_gradient(const Linear& linear, const Tensor& x, const Tensor& dy) {
  if (linear.weight->gradient.defined()) add_transposed_times(linear.weight->gradient, dy, x);
  if (linear.bias != nullptr && linear.bias->gradient.defined()) linear.bias->gradient.add_(dy.sum(0));
}

Tensor project_backward(const Linear& linear, const Tensor& dy) { return times(dy, linear.weight->value); }

Angles angles_of(const llm::Computation& computation, std::int64_t head_size, std::span<const std::int64_t> positions,
                 at::TensorOptions options) {
  const std::vector<float> frequencies = llm::rotary_frequencies(computation, head_size);
  const auto rows = static_cast<std::int64_t>(positions.size());
  Tensor cosines = at::empty({rows, head_size / 2}, at::kDouble);
  Tensor sines = at::empty({rows, head_size / 2}, at::kDouble);
  double* cosine = cosines.data_ptr<double>();
  double* sine = sines.data_ptr<double>();
  for (const std::int64_t position : positions)
    for (const float frequency : frequencies) {
      const float angle = static_cast<float>(position) * frequency;
      *cosine++ = std::cos(static_cast<double>(angle));
      *sine++ = std::sin(static_cast<double>(angle));
    }
  return {cosines.to(options), sines.to(options)};
}

const Operators& operators_for(const Tensor& x) {
  const bool has_kernels = x.device().is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
  return has_kernels ? cpu_operators() : tensor_operators();
}

}  // namespace dovetail::runtime
