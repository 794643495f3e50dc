// How many threads a rank computes with.
#pragma once

namespace dovetail::runtime {

/// Lets operators, kernels and OpenBLAS, where that is the library of matrix products, use so many threads of this
/// process.
void use_threads(int count);

}  // namespace dovetail::runtime
