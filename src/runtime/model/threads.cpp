#include "runtime/model/threads.h"

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace dovetail::runtime {

void use_threads(int count) {
  at::set_num_threads(count);
  // It has threads of its own, as many as processors, of which ATen knows nothing.
  using SetThreads = void (*)(int);
  if (void* const symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<SetThreads>(symbol)(count);
}

void reserve_product_buffers(int threads) {
  constexpr std::size_t buffer = std::size_t{128} << 20;  // OpenBLAS's, for a thread
  const std::size_t bytes = (static_cast<std::size_t>(threads) + 1) * buffer;
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  ::munmap(address, bytes);
  // Small products do without.
  constexpr std::int64_t side = 256;
  const at::Tensor square = at::zeros({side, side}, at::kFloat);
  (void)at::mm(square, square);
}

}  // namespace dovetail::runtime
