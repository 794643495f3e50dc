#include "runtime/model/ops.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <cmath>
#include <new>
#include <vector>

#include "base/assert.h"
#include "llm/computation.h"
#include "runtime/model/tensor.h"

#ifdef DOVETAIL_HAS_ONEDNN
// From oneDNN's C interface, whose header is not in PyTorch wheels. Matrices are row-major.
// (https://uxlfoundation.github.io/oneDNN/group_dnnl_api_blas.html)
extern "C" int dnnl_sgemm(char transpose_a, char transpose_b, std::int64_t rows, std::int64_t columns,
                          std::int64_t inner, float alpha, const float* a, std::int64_t row_of_a, const float* b,
                          std::int64_t row_of_b, float beta, float* c, std::int64_t row_of_c);
#endif

namespace dovetail::runtime {
namespace {

// Matrix products are the bulk of the backward pass. On the CPU in fp32 they use oneDNN if the build found it,
// otherwise ATen. OpenBLAS and MKL select kernels by CPU vendor, oneDNN by instruction set, which is twice as fast on
// cores with AVX-512.
enum class FirstFactor { as_it_is, transposed };

#ifdef DOVETAIL_HAS_ONEDNN
bool is_plain(const Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == at::kFloat && x.dim() == 2 && x.is_contiguous() && x.numel() > 0;
}

/// Sets `c` to a b + beta c. Returns false, with `c` unchanged, if oneDNN does not support these matrices.
bool multiply(const Tensor& a, FirstFactor first, const Tensor& b, float beta, Tensor& c) {
  if (!is_plain(a) || !is_plain(b) || !is_plain(c)) return false;
  const int status =
      dnnl_sgemm(first == FirstFactor::transposed ? 'T' : 'N', 'N', c.size(0), c.size(1), b.size(0), 1,
                 a.data_ptr<float>(), a.size(1), b.data_ptr<float>(), b.size(1), beta, c.data_ptr<float>(), c.size(1));
  constexpr int kOutOfMemory = 1;
  if (status == kOutOfMemory) throw std::bad_alloc();
  DOVETAIL_ASSERT(status == 0);
  return true;
}
#else
bool multiply(const Tensor&, FirstFactor, const Tensor&, float, Tensor&) { return false; }
#endif

/// Returns a b for `a` [rows, inner] and `b` [inner, columns].
Tensor times(const Tensor& a, const Tensor& b) {
  Tensor c = at::empty({a.size(0), b.size(1)}, a.options());
  if (!multiply(a, FirstFactor::as_it_is, b, 0, c)) at::mm_out(c, a, b);
  return c;
}

/// Adds a^T b to `sum` [rows, columns], for `a` [inner, rows] and `b` [inner, columns].
void add_transposed_times(Tensor& sum, const Tensor& a, const Tensor& b) {
  if (!multiply(a, FirstFactor::transposed, b, 1, sum)) sum.addmm_(a.t(), b);
}

}  // namespace

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
