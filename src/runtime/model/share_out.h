// Work on the CPU shared out to the threads of the process.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

namespace dovetail::runtime {

/// Runs f(begin, end) over the parts of [0, count), which are about `work` multiplications together: on threads where
/// that is worth it.
template <class F>
void share_out(std::int64_t count, std::int64_t work, F f) {
  constexpr std::int64_t work_of_thread = 1 << 18;
  const std::int64_t grain = std::max<std::int64_t>(1, count * work_of_thread / std::max<std::int64_t>(1, work));
  at::parallel_for(0, count, grain, f);
}

}  // namespace dovetail::runtime
