// Device on which a rank computes: the CPU or a GPU. Also sets the number of compute threads.
#pragma once

#include <ATen/Parallel.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace dovetail::runtime {

/// Checks that this machine has the device `name`: "cpu" or "cuda". The Error gives the reason.
base::Status check_device(const std::string& name);

/// Returns the CPU for "cpu". For "cuda", selects and returns a GPU for the calling thread: `local_rank` modulo the
/// number of GPUs. `local_rank` is the rank within this host. Returns the errors of check_device.
base::Result<at::Device> find_device(const std::string& name, int local_rank = 0);

/// Blocks until the current stream of a GPU has finished its submitted work. Returns immediately for the CPU.
void wait_for_work_of(const at::Device& device);

/// Makes every operator on a GPU give the same result in every run, or throw if it cannot. Must be called before the
/// first operator.
void compute_deterministically();

/// Returns the peak memory of tensors on the device since the previous call, in bytes. For the CPU, this is
/// process_memory().take_peak().
std::int64_t take_peak_of(const at::Device& device);

/// Sets the number of compute threads for ATen, src/kernels and, if it is loaded, OpenBLAS.
void use_threads(int count);

/// Makes OpenBLAS allocate its buffers for this number of threads. Throws std::bad_alloc if there is not enough memory;
/// OpenBLAS itself would retry the allocation forever.
void reserve_product_buffers(int threads);

/// Calls f(begin, end) for chunks that cover [0, count), on several threads if there is enough work. `work` is the
/// number of multiplications for all `count` items.
template <class F>
void share_out(std::int64_t count, std::int64_t work, F f) {
  constexpr std::int64_t work_of_thread = 1 << 18;
  const std::int64_t grain = std::max<std::int64_t>(1, count * work_of_thread / std::max<std::int64_t>(1, work));
  at::parallel_for(0, count, grain, f);
}

}  // namespace dovetail::runtime
