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

/// A factor of a product: a matrix, or what it is transposed.
struct Factor {
  const Tensor& matrix;
  bool transposed = false;
  std::int64_t rows() const { return matrix.size(transposed ? 1 : 0); }
  std::int64_t columns() const { return matrix.size(transposed ? 0 : 1); }
  Tensor view() const { return transposed ? matrix.t() : matrix; }
};

#ifdef DOVETAIL_HAS_ONEDNN
bool is_plain(const Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == at::kFloat && x.dim() == 2 && x.is_contiguous() && x.numel() > 0;
}

/// Makes `c` a b + beta c; false, and nothing done, where the matrices are none for oneDNN.
bool multiply(const Factor& a, const Factor& b, float beta, Tensor& c) {
  if (!is_plain(a.matrix) || !is_plain(b.matrix) || !is_plain(c)) return false;
  const int status = dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', a.rows(), b.columns(), a.columns(),
                                1, a.matrix.data_ptr<float>(), a.matrix.size(1), b.matrix.data_ptr<float>(),
                                b.matrix.size(1), beta, c.data_ptr<float>(), c.size(1));
  constexpr int kOutOfMemory = 1;
  if (status == kOutOfMemory) throw std::bad_alloc();
  DOVETAIL_ASSERT(status == 0);
  return true;
}
#else
bool multiply(const Factor&, const Factor&, float, Tensor&) { return false; }
#endif

Tensor product(const Factor& a, const Factor& b) {
  Tensor c = at::empty({a.rows(), b.columns()}, a.matrix.options());
  if (!multiply(a, b, 0, c)) at::mm_out(c, a.view(), b.view());
  return c;
}

}  // namespace

Tensor times_transposed(const Tensor& a, const Tensor& b) { return product({a}, {b, true}); }

Tensor times(const Tensor& a, const Tensor& b) { return product({a}, {b}); }

void add_transposed_times(Tensor& sum, const Tensor& a, const Tensor& b) {
  if (!multiply({a, true}, {b}, 1, sum)) sum.addmm_(a.t(), b);
}

}  // namespace dovetail::runtime
