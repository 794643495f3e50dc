// The search over plans: simulated annealing from every named placement, and ReaL's search as the baseline beside it.
//
// A step changes the choice of a task, its mesh, both, or the meshes of several tasks at once; it is taken as Metropolis does it, at a
// temperature that falls geometrically from a twentieth of the cost to a thousandth of that, again and again from the best so far. Plans
// that do not fit cost more the more is missing (Score::cost), so that a chain can pass through them. Chains share nothing: chain i draws
// from stream (seed, i), and what they found is merged in their order, so that threads change nothing about the answer.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/cancellation.h"
#include "place/placements.h"

namespace dovetail::place {

struct SearchOptions {
  int chains = 8;
  std::int64_t iterations = 400'000;  ///< of a chain
  std::uint64_t seed = 1;
  int threads = 1;
  std::size_t kept = 24;                                 ///< plans in the answer at most
  const parallel::Cancellation* cancellation = nullptr;  ///< where set: chains stop at the best so far
};

struct Found {
  Picks picks;
  Score score;
};

/// The plans that fit with the least periods, the best first; of those with the same meshes only the best. Starts from `starts`, dealt out
/// to the chains in turn (the first choices on random meshes where there are none). Empty where none that fits was met. REQUIRES: no
/// impossible_task(space).
std::vector<Found> search(const SearchSpace& space, const std::vector<Picks>& starts, const SearchOptions& options);

/// ReaL's search (reference/realhf.md, section 5): a Markov chain over one list of options a task, sorted by time, from the fastest of
/// each; a proposal is uniform over all (task, other option); one that is worse by d seconds is taken with probability exp(-beta floor(d /
/// 0.1 s)) with d over five iterations; a plan that does not fit counts three times its time. With its units as they were meant: the
/// program's own were not. The best that fits of one chain of so many evaluations; nothing where none did.
struct RealOptions {
  double beta = 0.002;
  std::int64_t evaluations = 100'000;
  std::uint64_t seed = 1;
};
std::vector<Found> real_search(const SearchSpace& space, const RealOptions& options);

}  // namespace dovetail::place
