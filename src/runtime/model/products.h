// Products of matrices, the bulk of the backward. On the CPU in fp32 they are oneDNN's where the build found
// it: OpenBLAS and MKL choose their kernels by the maker of the processor, oneDNN by what it can do, which on cores
// with AVX-512 is twice as fast. All else is ATen's.
#pragma once

#include "runtime/model/tensor.h"

namespace dovetail::runtime {

/// a b of `a` [rows, inner] and `b` [inner, columns].
Tensor times(const Tensor& a, const Tensor& b);
/// Adds a^T b of `a` [inner, rows] and `b` [inner, columns] to `sum` [rows, columns].
void add_transposed_times(Tensor& sum, const Tensor& a, const Tensor& b);

}  // namespace dovetail::runtime
