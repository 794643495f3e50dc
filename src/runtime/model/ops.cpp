#include "runtime/model/ops.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <cmath>
#include <vector>

#include "llm/computation.h"
#include "runtime/model/cpu_ops.h"
#include "runtime/model/tensor_ops.h"

namespace dovetail::runtime {
namespace {

/// Whether src/kernels has operators for it.
bool has_kernels(const Tensor& x) {
  return x.device().is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
}

}  // namespace

Tensor project(const Linear& linear, const Tensor& x) {
  const Tensor transposed = linear.weight->value.t();
  return linear.bias != nullptr ? at::addmm(linear.bias->value, x, transposed) : at::mm(x, transposed);
}

void add_weight_gradient(const Linear& linear, const Tensor& x, const Tensor& dy) {
  if (linear.weight->gradient.defined()) linear.weight->gradient.addmm_(dy.t(), x);
  if (linear.bias != nullptr && linear.bias->gradient.defined()) linear.bias->gradient.add_(dy.sum(0));
}

Tensor project_backward(const Linear& linear, const Tensor& dy) { return at::mm(dy, linear.weight->value); }

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

Tensor normalize(const Tensor& x, const Parameter& scale, double epsilon) {
  return has_kernels(x) ? cpu_ops::normalize(x, scale, epsilon) : tensor_ops::normalize(x, scale, epsilon);
}

Tensor normalize_backward(const Tensor& x, Parameter& scale, double epsilon, const Tensor& dy) {
  return has_kernels(x) ? cpu_ops::normalize_backward(x, scale, epsilon, dy)
                        : tensor_ops::normalize_backward(x, scale, epsilon, dy);
}

Tensor rotate(const Tensor& x, const Angles& angles) {
  return has_kernels(x) ? cpu_ops::rotate(x, angles) : tensor_ops::rotate(x, angles);
}

Tensor rotate_backward(const Tensor& dy, const Angles& angles) {
  return has_kernels(dy) ? cpu_ops::rotate_backward(dy, angles) : tensor_ops::rotate_backward(dy, angles);
}

Tensor gated(const Tensor& gate, const Tensor& up) {
  return has_kernels(gate) ? cpu_ops::gated(gate, up) : tensor_ops::gated(gate, up);
}

GatedBackward gated_backward(const Tensor& gate, const Tensor& up, const Tensor& dy) {
  return has_kernels(gate) ? cpu_ops::gated_backward(gate, up, dy) : tensor_ops::gated_backward(gate, up, dy);
}

Attention attend(const Tensor& query, const Tensor& key, const Tensor& value, std::span<const std::int64_t> offsets) {
  return has_kernels(query) ? cpu_ops::attend(query, key, value, offsets)
                            : tensor_ops::attend(query, key, value, offsets);
}

AttentionBackward attend_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Attention& attention, std::span<const std::int64_t> offsets, const Tensor& dy) {
  return has_kernels(query) ? cpu_ops::attend_backward(query, key, value, attention, offsets, dy)
                            : tensor_ops::attend_backward(query, key, value, attention, offsets, dy);
}

}  // namespace dovetail::runtime
