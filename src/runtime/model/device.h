// Device that a rank computes on, the CPU or a GPU, and its compute threads.
#pragma once

#include <ATen/Parallel.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace dovetail::runtime {

/// Returns an Error with the reason if this machine has no device with this name: "cpu" or "cuda".
base::Status check_device(const std::string& name);

/// Returns the CPU for "cpu". For "cuda", selects a GPU for the calling thread, round-robin by `local_rank`, the rank
/// within this host. Fails as check_device does.
base::Result<at::Device> find_device(const std::string& name, int local_rank = 0);

/// Blocks until the device has finished all submitted work. Returns at once on the CPU.
void wait_for_work_of(const at::Device& device);

/// Makes every operator reproducible from run to run on a GPU. Must be called before the first operator.
void compute_deterministically();

/// Returns the maximum bytes of tensors on the device since the previous call, and resets it. On the CPU, this is the
/// peak of process_memory().
std::int64_t take_peak_of(const at::Device& device);

/// Sets the number of threads of operators and kernels, and of OpenBLAS if it computes the matrix products.
void use_threads(int count);

/// Makes OpenBLAS allocate its buffers now, because it retries forever if it cannot do so later. Throws std::bad_alloc
/// if memory is short.
void reserve_product_buffers(int threads);

/// Calls f(begin, end) for chunks of [0, count), on several threads if there is enough work. `work` is the total number
/// of multiplications.
template <class F>
void share_out(std::int64_t count, std::int64_t work, F f) {
  constexpr std::int64_t work_of_thread = 1 << 18;
  const std::int64_t grain = std::max<std::int64_t>(1, count * work_of_thread / std::max<std::int64_t>(1, work));
  at::parallel_for(0, count, grain, f);
}

}  // namespace dovetail::runtime
