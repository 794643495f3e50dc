// Tensors and the memory they use. Includes no ATen header that is slow to compile.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "transport/collectives.h"

namespace dovetail::runtime {

using at::Tensor;

/// Returns a one-dimensional tensor of 64-bit integers on the device.
Tensor integer_tensor(const std::vector<std::int64_t>& values, const at::Device& device);

/// Reshapes rows [tokens, features] to [tokens, heads, size].
inline Tensor by_head(const Tensor& x, std::int64_t size) { return x.view({x.size(0), -1, size}); }

/// Runs `work`, a collective operation of `collectives`, on a vector in place. If the vector is not in the memory that
/// the collectives use, runs `work` on a copy and copies the result back. `device` is the device of this rank's models.
base::Status with_numbers(const Tensor& vector, const at::Device& device, const transport::Collectives& collectives,
                          const std::function<base::Status(transport::Numbers)>& work);

/// Counts the bytes of tensors in host memory. Excludes memory that libraries allocate internally.
class MemoryCount {
 public:
  void add(std::int64_t bytes);
  std::int64_t live() const { return live_; }
  /// Returns the peak of live() since the previous call.
  std::int64_t take_peak();

 private:
  std::atomic<std::int64_t> live_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
};

/// Starts counting the memory of new tensors. A tensor counts in the MemoryCount of the allocating thread's
/// CountedThread, if the thread has one, otherwise in process_memory(). Further calls have no effect.
void count_memory();

MemoryCount& process_memory();

/// Counts in `count` the tensors that the current thread allocates while this object exists. When any thread frees such
/// a tensor, it is subtracted again. `count` must outlive the tensors.
class CountedThread {
 public:
  explicit CountedThread(MemoryCount& count);
  ~CountedThread();
  CountedThread(const CountedThread&) = delete;
  CountedThread& operator=(const CountedThread&) = delete;

 private:
  MemoryCount* before_;
};

/// Returns the result of `work`, or the error from `make_error` if `work` runs out of memory.
base::Status unless_out_of_memory(const std::function<base::Status()>& work,
                                  const std::function<base::Error()>& make_error);

}  // namespace dovetail::runtime
