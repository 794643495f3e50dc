// ReaL's search, as the baseline beside ours.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/search/pool.h"

namespace dovetail::planner {

/// ReaL's search (docs/facts.md#real-search): a Markov chain over one list of options a task, sorted by time, from the
/// fastest of each; a proposal is uniform over all (task, other option); one that is worse by d seconds is taken with
/// probability exp(-beta floor(d / 0.1 s)) with d over five iterations; a plan that does not fit counts three times its
/// time. With its units as they were meant: the program's own were not. The best that fits of one chain of so many
/// evaluations; nothing where none did.
struct RealOptions {
  double beta = 0.002;
  std::int64_t evaluations = 100'000;
  std::uint64_t seed = 1;
};
std::vector<Found> real_search(const SearchSpace& space, const RealOptions& options);

}  // namespace dovetail::planner
