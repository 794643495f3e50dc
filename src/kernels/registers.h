// Dispatch to the best instruction set of the processor at run time. The only place that detects the processor.
#pragma once

#include <type_traits>

namespace dovetail::kernels {

/// Size of a vector register in bytes, which determines the number of lanes (kernels/lanes.h) and the width of tiles.
template <int bytes>
using Registers = std::integral_constant<int, bytes>;

/// Precedes a loop whose iterations do not read what other iterations write, so that the compiler vectorizes the loop
/// even if it works in place. Empty for Clang, whose pragma for this causes warnings in some places.
#if defined(__clang__)
#define DOVETAIL_INDEPENDENT
#else
#define DOVETAIL_INDEPENDENT _Pragma("GCC ivdep")
#endif

#if defined(__x86_64__)

#if defined(__clang__)
#define DOVETAIL_WIDE __attribute__((target("arch=x86-64-v4"), min_vector_width(512)))
#else
#define DOVETAIL_WIDE __attribute__((target("arch=x86-64-v4")))
#endif

/// Calls `work` compiled for AVX-512.
template <class Work>
DOVETAIL_WIDE void run_on_64_bytes(const Work work) {
  work(Registers<64>{});
}

/// Calls `work` compiled for AVX2 and FMA.
template <class Work>
__attribute__((target("arch=x86-64-v3"))) void run_on_32_bytes(const Work work) {
  work(Registers<32>{});
}

#undef DOVETAIL_WIDE

/// Calls `work` with the register size of this processor. Results may differ between processors in the last digits, but
/// never on the same processor. `work` and everything it calls must be always_inline, so that it is compiled for the
/// instruction set.
template <class Work>
void run_on_best_registers(const Work& work) {
  if (__builtin_cpu_supports("x86-64-v4"))
    run_on_64_bytes(work);
  else if (__builtin_cpu_supports("x86-64-v3"))
    run_on_32_bytes(work);
  else
    work(Registers<16>{});
}

#else

template <class Work>
void run_on_best_registers(const Work& work) {
  work(Registers<16>{});
}

#endif

}  // namespace dovetail::kernels
