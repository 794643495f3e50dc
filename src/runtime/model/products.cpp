#include "runtime/model/products.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <new>

#include "base/assert.h"

#ifdef DOVETAIL_HAS_ONEDNN
// Of oneDNN's C interface, whose header a wheel of torch does not bring; the rows of a matrix follow each other.
// (https://uxlfoundation.github.io/oneDNN/group_dnnl_api_blas.html)
extern "C" int dnnl_sgemm(char transpose_a, char transpose_b, std::int64_t rows, std::int64_t columns,
                          std::int64_t inner, float alpha, const float* a, std::int64_t row_of_a, const float* b,
                          std::int64_t row_of_b, float beta, float* c, std::int64_t row_of_c);
#endif

namespace dovetail::runtime {
namespace {

enum class FirstFactor { as_it_is, transposed };

#ifdef DOVETAIL_HAS_ONEDNN
bool is_plain(const Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == at::kFloat && x.dim() == 2 && x.is_contiguous() && x.numel() > 0;
}

/// Makes `c` a b + beta c; false, and nothing done, where the matrices are none for oneDNN.
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

}  // namespace

Tensor times(const Tensor& a, const Tensor& b) {
  Tensor c = at::empty({a.size(0), b.size(1)}, a.options());
  if (!multiply(a, FirstFactor::as_it_is, b, 0, c)) at::mm_out(c, a, b);
  return c;
}

void add_transposed_times(Tensor& sum, const Tensor& a, const Tensor& b) {
  if (!multiply(a, FirstFactor::transposed, b, 1, sum)) sum.addmm_(a.t(), b);
}

}  // namespace dovetail::runtime
