// Work compiled for several instruction sets, of which the processor's best is taken when it runs. The one place that
// asks which processor this is.
#pragma once

#include <type_traits>

namespace dovetail::kernels {

/// Bytes of a vector register, for the widths of lanes (kernels/lanes.h) and tiles.
template <int bytes>
using Registers = std::integral_constant<int, bytes>;

/// Before a loop of which no turn reads what another one has written, though it may write what it reads: so that it is
/// made of vector instructions where that is in place. Clang has no such word that it does not warn about elsewhere.
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

/// AVX-512.
template <class Work>
DOVETAIL_WIDE void run_on_64_bytes(const Work work) {
  work(Registers<64>{});
}

/// AVX2 and FMA.
template <class Work>
__attribute__((target("arch=x86-64-v3"))) void run_on_32_bytes(const Work work) {
  work(Registers<32>{});
}

#undef DOVETAIL_WIDE

/// Calls `work` with the size of this processor's registers. What is computed may differ between processors in its last
/// digits, and never on one of them. `work` and all it calls must be inlined always: only so they are compiled for the
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
