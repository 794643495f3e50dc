#include "planner/advice/side_by_side.h"

#include <algorithm>
#include <cmath>

namespace dovetail::planner {
namespace {

using base::Ticks;

/// Seconds of an iteration in which both tasks run; no task takes longer than the iterations that overlap.
double shared_seconds(const plan::Timing& timing, std::size_t one, std::size_t two) {
  const plan::ActivityTime& a = timing.activities[one];
  const plan::ActivityTime& b = timing.activities[two];
  constexpr int neighbours = 4;
  Ticks shared;
  for (int iteration = -neighbours; iteration <= neighbours; ++iteration) {
    const Ticks later = timing.period * iteration;
    shared += std::max(Ticks(0), std::min(a.end, b.end + later) - std::max(a.begin, b.begin + later));
  }
  return base::seconds_of_ticks(shared);
}

}  // namespace

std::vector<SideBySide> side_by_side(const EstimatedPlan& here, const EstimatedPlan& there) {
  std::vector<SideBySide> pairs;
  const std::size_t tasks = here.plan.tasks.size();
  for (std::size_t one = 0; one < tasks; ++one)
    for (std::size_t two = one + 1; two < tasks; ++two) {
      const SecondsPair seconds{shared_seconds(here.estimate.timing, one, two),
                                shared_seconds(there.estimate.timing, one, two)};
      if (seconds.here > 0 || seconds.there > 0) pairs.push_back({one, two, seconds});
    }
  std::stable_sort(pairs.begin(), pairs.end(), [](const SideBySide& a, const SideBySide& b) {
    return std::abs(a.seconds.lost()) > std::abs(b.seconds.lost());
  });
  return pairs;
}

}  // namespace dovetail::planner
