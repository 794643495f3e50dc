// The search over plans: chains of simulated annealing (chain.h) from every named placement, and ReaL's search as a
// baseline.
//
// Chains are independent, and their results are merged in order. The result therefore does not depend on the number of
// threads or processes. A time limit in SearchOptions ends the search between rounds (see search()).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "parallel/exchange.h"
#include "pipeline/schedule/schedule.h"
#include "planner/search/chain.h"

namespace dovetail::planner {

/// Progress report at the end of each round.
struct SearchProgress {
  const Found* best = nullptr;        ///< best plan so far by Trial::score; null if no plan that fits was found
  base::Ticks bound;                  ///< lower bound on the period of all plans; 0: unknown
  std::int64_t iterations = 0;        ///< number of iterations done, per chain
  std::int64_t planned = 0;           ///< number of iterations per chain in the entire run
  double evaluations_per_second = 0;  ///< by all chains together
  double seconds_left = 0;            ///< estimated from the speed so far
};

struct SearchOptions {
  static constexpr std::int64_t default_iterations = 150'000;

  int chains = 8;
  /// Number of iterations per chain; nullopt: default_iterations, or as many as the time limit allows.
  std::optional<std::int64_t> iterations = std::nullopt;
  /// Time limit: the search ends after the round that exceeds it. Unless `iterations` is given, the number of
  /// iterations is chosen from the limit and the measured speed. nullopt: no limit.
  std::optional<double> time_limit_seconds = std::nullopt;
  std::uint64_t seed = 1;
  /// Fusions that plans may have, a subset of open_fusion(). Plans always have those that the job requires.
  FusionSelection fusion = {};
  int threads = 1;        ///< does not affect the result
  std::size_t kept = 24;  ///< maximum number of plans in the result
  /// Lower bound on the period of all plans; a plan that reaches it ends the search.
  base::Ticks bound = base::Ticks(0);
  const parallel::Exchange* exchange = nullptr;  ///< processes that share the chains; null: this process only
  /// Called from the calling thread between rounds.
  std::function<void(const SearchProgress&)> on_progress = nullptr;
  /// Called with the best plan so far whenever it improves, from the calling thread between rounds.
  std::function<void(const Found&)> on_better = nullptr;
};

/// Statistics of a search.
struct SearchRun {
  int chains = 0;
  std::uint64_t seed = 0;
  /// Number of iterations per chain. See search() for when the same number gives the same result.
  std::int64_t iterations = 0;
  pipeline::StoppedBy stopped_by = pipeline::StoppedBy::iterations;
  double seconds = 0;
  double evaluations_per_second = 0;  ///< by all chains together
  /// Set if a process of the exchange was lost, which ended the search early.
  std::optional<base::Error> lost_process;
};

struct SearchResult {
  /// Plans that fit, sorted by exact period; only the best of those with the same meshes and fusions.
  std::vector<Found> found;
  SearchRun run;
};

/// Runs the chains in rounds of equal length, except that the last may be shorter. Chain k begins at
/// starts[k % starts.size()]. Without starts, chains begin with the first choices on random meshes. The result is empty
/// if no plan that fits was found. If stopped (Scenario::cancellation), chains end within the round, with the best
/// plans so far. The time limit of `options` ends the search between rounds. A second search with
/// SearchRun::iterations as its `iterations` then gives the same result if this number is a multiple of Chain::cooling,
/// which is always so with at most 8 chains. REQUIRES: impossible_task(space) is nullopt.
SearchResult search(const SearchSpace& space, const std::vector<Selection>& starts, const SearchOptions& options);

/// Options of ReaL's search (docs/facts.md#real-search), a Markov chain. It starts with each task's fastest choice
/// across all meshes. A step proposes a choice for a task, drawn uniformly from all choices of all tasks on all meshes.
/// A proposal whose plan takes d seconds longer for five iterations is accepted with probability
/// exp(-beta floor(d / 0.1 s)). The time of a plan that does not fit counts three times. The time unit of 0.1 s is the
/// one that ReaL intended; its program uses another.
struct RealOptions {
  double beta = 0.002;
  std::int64_t evaluations = 100'000;
  std::uint64_t seed = 1;
};
/// Runs one chain of ReaL's search. Returns the best plan that fits, or an empty vector if none was found.
std::vector<Found> real_search(const SearchSpace& space, const RealOptions& options);

}  // namespace dovetail::planner
