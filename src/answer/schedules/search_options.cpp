#include "answer/schedules/search_options.h"

#include <fmt/format.h>

namespace dovetail::answer {

fuse::SolveOptions solve_options(const ScheduleSearchOptions& search) {
  fuse::SolveOptions options;
  options.seed = search.budget.seed;
  options.chains = search.budget.chains;
  options.iterations = search.budget.iterations;
  options.time_limit_seconds = search.budget.time_limit;
  options.threads = search.budget.thread_count();
  options.memory_cap = search.memory_cap;
  return options;
}

base::Result<std::optional<base::Ticks>> deadline_of(const std::optional<std::string>& text, base::TimeUnit unit) {
  if (!text) return std::optional<base::Ticks>();
  const auto deadline = base::parse_time(*text, unit, base::FineDigits::refuse);
  if (!deadline) return base::bad_input(fmt::format("--deadline: '{}' {}", *text, deadline.error().message));
  return std::optional(*deadline);
}

std::optional<double> with_patience(std::optional<double> time_limit_seconds) {
  constexpr double patience_seconds = 0.25;
  return time_limit_seconds ? std::optional(*time_limit_seconds + patience_seconds) : std::nullopt;
}

}  // namespace dovetail::answer
