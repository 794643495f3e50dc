#include "runtime/profile/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/stopwatch.h"

namespace dovetail::runtime {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_seconds(const std::function<void()>& work) {
  constexpr std::size_t min_times = 3;
  constexpr double enough = 0.1;
  work();
  std::vector<double> times;
  double sum = 0;
  while (times.size() < min_times || sum < enough) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    times.push_back(base::seconds_since(begin));
    sum += times.back();
  }
  return median(std::move(times));
}

}  // namespace dovetail::runtime
