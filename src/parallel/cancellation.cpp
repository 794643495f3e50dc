#include "parallel/cancellation.h"

#include <algorithm>
#include <string>

namespace dovetail::parallel {

using Clock = std::chrono::steady_clock;

Cancellation::Cancellation(const Cancellation* outer, std::optional<double> seconds) : outer_(outer) {
  // Longer than any work, and within the range of the clock.
  constexpr double max_seconds = 1e9;
  if (seconds)
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(std::min(*seconds, max_seconds)));
  if (outer != nullptr && outer->deadline_)
    deadline_ = std::min(*outer->deadline_, deadline_.value_or(*outer->deadline_));
}

std::optional<EndedBy> Cancellation::ended_by() const {
  for (const Cancellation* one = this; one != nullptr; one = one->outer_)
    if (one->requested_.load(std::memory_order_relaxed)) return EndedBy::interrupt;
  if (deadline_ && Clock::now() >= *deadline_) return EndedBy::time;
  return std::nullopt;
}

std::optional<double> Cancellation::seconds_left() const {
  if (!deadline_) return std::nullopt;
  return std::max(0.0, std::chrono::duration<double>(*deadline_ - Clock::now()).count());
}

base::Error stopped_before(std::string_view what, EndedBy ended_by) {
  if (ended_by == EndedBy::time)
    return {base::Failure::infeasible, {}, 0, 0, "the time limit expired before " + std::string(what)};
  return {base::Failure::interrupted, {}, 0, 0, "interrupted before " + std::string(what)};
}

}  // namespace dovetail::parallel
