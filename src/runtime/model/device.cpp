#include "runtime/model/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <torch/version.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "runtime/model/tensor.h"

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
#include <c10/core/CachingDeviceAllocator.h>
#endif

namespace dovetail::runtime {
namespace {

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
std::int64_t take_peak_of_gpu(const at::Device& device) {
  c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(device.type());
  if (!allocator.initialized()) return 0;
  constexpr std::size_t of_all_pools = 0;
  const std::int64_t peak = allocator.getDeviceStats(device.index()).allocated_bytes[of_all_pools].peak;
  allocator.resetPeakStats(device.index());
  return peak;
}
#else
// cmake/FindLibtorch.cmake accepts GPUs only with newer versions.
std::int64_t take_peak_of_gpu(const at::Device&) { return 0; }
#endif

}  // namespace

base::Status check_device(const std::string& name) {
  if (name == "cpu") return {};
  if (name != "cuda") return base::bad_input(fmt::format("--device must be cpu or cuda, got {}", name));
  if (!at::globalContext().hasCUDA())
    return base::bad_input(
        "--device cuda: this dovetail-train finds no GPU; use --device cpu, or a machine with a GPU and a build with "
        "-DDOVETAIL_CUDA=ON");
  return {};
}

base::Result<at::Device> find_device(const std::string& name, int local_rank) {
  DOVETAIL_CHECK(check_device(name));
  if (name == "cpu") return at::Device(at::kCPU);
  const c10::impl::VirtualGuardImpl gpus(at::kCUDA);
  const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(local_rank % gpus.deviceCount()));
  gpus.setDevice(device);
  return device;
}

void wait_for_work_of(const at::Device& device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl gpus(device.type());
  gpus.getStream(device).synchronize();
}

void compute_deterministically() {
  // cuBLAS needs this before its initialization.
  constexpr int keep_existing = 0;
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", keep_existing);
  constexpr bool only_warn = false;
  at::globalContext().setDeterministicAlgorithms(true, only_warn);
}

std::int64_t take_peak_of(const at::Device& device) {
  return device.is_cpu() ? process_memory().take_peak() : take_peak_of_gpu(device);
}

void use_threads(int count) {
  at::set_num_threads(count);
  // OpenBLAS has its own thread pool, one thread per processor, which ATen does not control.
  using SetThreads = void (*)(int);
  if (void* const symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<SetThreads>(symbol)(count);
}

void reserve_product_buffers(int threads) {
  constexpr std::size_t buffer = std::size_t{128} << 20;  // OpenBLAS's buffer per thread
  const std::size_t bytes = (static_cast<std::size_t>(threads) + 1) * buffer;
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  ::munmap(address, bytes);
  // Small products use no buffer.
  constexpr std::int64_t side = 256;
  const at::Tensor square = at::zeros({side, side}, at::kFloat);
  (void)at::mm(square, square);
}

}  // namespace dovetail::runtime
