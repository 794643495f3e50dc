#include "runtime/model/device.h"

#include <ATen/Context.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <cstdlib>

#include "runtime/model/memory_count.h"

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
// cmake/FindLibtorch.cmake links no GPU of an older one.
std::int64_t take_peak_of_gpu(const at::Device&) { return 0; }
#endif

}  // namespace

base::Status check_device(const std::string& name) {
  if (name == "cpu") return {};
  if (name != "cuda") return base::bad_input(fmt::format("--device {} is none; accepted: cpu, cuda", name));
  if (!at::globalContext().hasCUDA())
    return base::bad_input(
        "--device cuda: there is no GPU that this dovetail-train can use; accepted: cpu, or a machine with one and a "
        "build with -DDOVETAIL_CUDA=ON");
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
  // What cuBLAS asks for, before it is there.
  constexpr int keep_what_the_user_says = 0;
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", keep_what_the_user_says);
  constexpr bool only_warn = false;
  at::globalContext().setDeterministicAlgorithms(true, only_warn);
}

std::int64_t take_peak_of(const at::Device& device) {
  return device.is_cpu() ? process_memory().take_peak() : take_peak_of_gpu(device);
}

}  // namespace dovetail::runtime
