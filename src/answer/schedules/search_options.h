// What requests say of a search for schedules.
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

inline constexpr const char* memory_cap_help =
    "most that a device may hold, with what is resident, in the unit of activation";
inline constexpr const char* robust_help =
    "weigh the makespan when durations vary: in place of the makespan counts (100 - N)% of it and N% of its 95th "
    "percentile when every op lasts 5% less to 5% more (default {})";

struct ScheduleSearchOptions {
  SearchBudget budget{.chains = fuse::SolveOptions{}.chains, .seed = fuse::SolveOptions{}.seed};
  std::optional<base::Memory> memory_cap = std::nullopt;
};
template <std::same_as<ScheduleSearchOptions> T>
auto options_of(const T*) {
  return options<T>(group(&T::budget), option("memory-cap", &T::memory_cap, Amount{}, memory_cap_help));
}

/// The options for a solver, without start, cancellation, other processes and progress.
fuse::SolveOptions solve_options(const ScheduleSearchOptions& search);

/// What --deadline says, in the unit of the problem that it is for.
base::Result<std::optional<base::Ticks>> deadline_of(const std::optional<std::string>& text, base::TimeUnit unit);

/// When what a search for schedules is part of has to stop. It stops by itself where its time is over, so that its
/// iterations repeat it; only what has not ended soon after is cut short.
std::optional<double> with_patience(std::optional<double> time_limit_seconds);

}  // namespace dovetail::answer
