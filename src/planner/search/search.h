// The search over plans: chains of simulated annealing (chain.h) from every named placement.
//
// Chains share nothing that changes what they do, and what they found is merged in their order, so that neither threads
// nor processes change anything about the answer, nor does a limit of time: it only chooses how many iterations there
// are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "parallel/exchange.h"
#include "pipeline/schedule/schedule.h"
#include "planner/search/pool.h"

namespace dovetail::planner {

/// What a search tells at the border of each round.
struct SearchProgress {
  const Found* best = nullptr;        ///< so far, by Trial::score; null while none was met that fits
  base::Ticks bound;                  ///< ns that no plan's period is below; 0: none known
  std::int64_t iterations = 0;        ///< done, of a chain
  std::int64_t planned = 0;           ///< of the whole run, of a chain
  double evaluations_per_second = 0;  ///< plans judged, by all chains together
  double seconds_left = 0;            ///< at this speed
};

struct SearchOptions {
  static constexpr std::int64_t default_iterations = 150'000;

  int chains = 8;
  std::optional<std::int64_t> iterations =
      std::nullopt;  ///< of a chain; absent: default_iterations, or what the time allows
  std::optional<double> time_limit_seconds =
      std::nullopt;  ///< chooses the iterations, unless they are given, by the speed measured meanwhile
  std::uint64_t seed = 1;
  FusionSelection fusion =
      {};                 ///< that plans may have, of the job's open_fusion(); what it demands of these they all have
  int threads = 1;        ///< never changes the answer
  std::size_t kept = 24;  ///< plans in the answer at most
  base::Ticks bound = base::Ticks(0);  ///< ns that no plan's period is below: a plan that has it ends the search
  const parallel::Exchange* exchange = nullptr;  ///< the processes that share out the chains; absent: this one alone
  std::function<void(const SearchProgress&)> on_progress = nullptr;  ///< called from the calling thread, between rounds
  std::function<void(const Found&)> on_better = nullptr;  ///< the best so far, each time it got better; likewise
};

/// How a search went.
struct SearchRun {
  int chains = 0;
  std::uint64_t seed = 0;
  std::int64_t iterations =
      0;  ///< of a chain: with as many the same is found, unless an interrupt or the time ended a round
  pipeline::StoppedBy stopped_by = pipeline::StoppedBy::iterations;
  double seconds = 0;
  double evaluations_per_second = 0;        ///< by all chains together
  std::optional<base::Error> lost_process;  ///< of the exchange: the search ended early because of it
};

struct SearchResult {
  std::vector<Found> found;  ///< the plans that fit with the least periods, which are exact, the best first; of those
                             ///< with the same meshes and fusions only the best
  SearchRun run;
};

/// Starts from `starts`, dealt out to the chains in turn (the first choices on random meshes where there are none), in
/// rounds of equally many iterations. Finds nothing where no plan that fits was met. Chains that are stopped
/// (Scenario::cancellation) end with the best so far; the time limit ends it between rounds, so that as many iterations
/// find the same. REQUIRES: no impossible_task(space).
SearchResult search(const SearchSpace& space, const std::vector<Selection>& starts, const SearchOptions& options);

}  // namespace dovetail::planner
