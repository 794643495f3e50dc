// Elapsed time, for time limits and reports.
#pragma once

#include <chrono>

namespace dovetail::base {

/// Returns the seconds that have passed since `begin`.
inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace dovetail::base
