// Search options of requests for schedules.
#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "answer/question/budget.h"
#include "answer/question/option.h"
#include "base/quantity.h"
#include "base/result.h"
#include "fuse/solution/solution.h"

namespace dovetail::answer {

inline constexpr const char* memory_cap_help = "max memory per device, including resident memory";
inline constexpr const char* robust_help = "weight in percent of the 95th-percentile makespan (default {})";

struct ScheduleSearchOptions {
  SearchBudget budget{.chains = fuse::SolveOptions{}.chains, .seed = fuse::SolveOptions{}.seed};
  std::optional<base::Memory> memory_cap = std::nullopt;
};
template <std::same_as<ScheduleSearchOptions> T>
auto options_of(const T*) {
  return options<T>(group(&T::budget), option("memory-cap", &T::memory_cap, Amount{}, memory_cap_help));
}

/// Converts to solver options, without start, cancellation, other processes and progress.
fuse::SolveOptions solve_options(const ScheduleSearchOptions& search);

/// Parses --deadline in the problem's unit; nullopt if it is not given.
base::Result<std::optional<base::Ticks>> deadline_of(const std::optional<std::string>& text, base::TimeUnit unit);

/// Time after which work that includes a search is cut short. The search ends by itself at its time limit, so that its
/// iteration count reproduces it. Only work that overruns this grace period is interrupted.
std::optional<double> with_patience(std::optional<double> time_limit_seconds);

}  // namespace dovetail::answer
