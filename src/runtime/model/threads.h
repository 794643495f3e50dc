// How many threads a rank computes with.
#pragma once

namespace dovetail::runtime {

/// Lets operators, kernels and OpenBLAS, where that is the library of matrix products, use so many threads of this
/// process.
void use_threads(int count);

/// Lets OpenBLAS reserve now what it computes in: where there is no memory for it later, it tries for ever. Throws
/// std::bad_alloc where there is none now.
void reserve_product_buffers(int threads);

}  // namespace dovetail::runtime
