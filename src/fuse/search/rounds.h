// Rounds of a search: chains distributed over threads and processes, which exchange the best of each chain at the end
// of each round.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fuse/search/walk_phases.h"
#include "fuse/solution/solution.h"
#include "parallel/exchange.h"
#include "parallel/shared_chains.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// The best schedule of a chain.
struct ChainBest {
  std::int64_t makespan = 0;
  std::int64_t peak = 0;
  std::int64_t score = 0;  ///< Chain::best_score
  pipeline::Order order;
};

/// A process's message to the others at the end of a round.
struct RoundReport {
  bool interrupted = false;  ///< whether the process received a stop request
  /// In the report before the first round: iterations per chain that the process plans. All processes use the minimum.
  std::int64_t planned = 0;
  std::vector<int> chains;       ///< numbers of the chains whose best improved
  std::vector<ChainBest> bests;  ///< best schedule of each entry of `chains`
};

/// Encodes and decodes a report. Messages come from other processes of the same program, so a malformed one is an
/// internal error.
std::string message_of(const RoundReport& report);
RoundReport report_of(std::string_view message);

/// Sends `own` to all processes and returns their reports in rank order. Without an exchange, returns only `own`.
/// Returns an Error if a process is lost.
base::Result<std::vector<RoundReport>> exchange_reports(const parallel::Exchange* exchange, const RoundReport& own);

/// The chains of a search and the best schedule of each. The next action of a search may depend only on these schedules
/// and the chain numbers, so that the result does not depend on which process runs which chain.
class Rounds {
 public:
  /// Chain i uses random stream (options.seed, i) and starts from starts[i % size]. Process r of n runs the chains r, r
  /// + n, ...
  Rounds(const pipeline::OpGraph& graph, const std::vector<pipeline::Order>& starts, const SolveOptions& options,
         std::int64_t planned_iterations);

  /// The chains of this process, and the global number of each.
  std::vector<Chain>& chains() { return chains_; }
  int number(std::size_t own) const { return shared_.numbers()[own]; }
  /// Returns the best schedule of every chain, indexed by chain number.
  const std::vector<ChainBest>& chain_bests() const { return chain_bests_; }
  /// Returns the iterations per chain that are planned for the whole search.
  std::int64_t planned() const { return planned_; }
  void plan(std::int64_t iterations) { planned_ = iterations; }
  double seconds() const { return shared_.seconds(); }
  /// Returns the iterations per chain that are done.
  std::int64_t done() const { return done_; }
  /// Whether a stop has been requested, possibly during a round. The current work then need not be finished.
  bool interrupted() const { return shared_.is_cancelled(); }
  /// Returns SolveOptions::brief.
  bool brief() const { return options_.brief; }

  /// Runs `work(own)`, which does `iterations` iterations of a chain, for each chain of this process. Then takes over
  /// improvements from all processes. `phase` is for progress reports, which show the schedule of chain best().
  void run(std::string_view phase, std::int64_t iterations, const std::function<void(std::size_t own)>& work);
  /// Runs `iterations` of each chain in rounds, or fewer if stopped or is_over(). work(own, count) does `count`
  /// iterations of a chain.
  void run_rounds(std::string_view phase, std::int64_t iterations, const std::function<bool()>& is_over,
                  const std::function<void(std::size_t own, std::int64_t count)>& work);
  /// Restarts each chain from its own best if that is `good`, otherwise from the best of chain `otherwise`.
  void gather(const std::function<bool(const ChainBest&)>& good, std::size_t otherwise);

  /// Whether the first schedule is better than the second. Set by the search.
  std::function<bool(const ChainBest&, const ChainBest&)> is_better;
  /// Returns the number of the chain with the best schedule, the lowest number if there are several.
  std::size_t best() const;
  /// Called with the best schedule whenever it improves.
  std::function<void(const ChainBest&)> on_better;

  /// Returns why no more rounds may run, or nullopt if more may run.
  std::optional<pipeline::StoppedBy> stopped() const;
  /// Returns the error of a lost process, or nullopt.
  const std::optional<base::Error>& lost() const { return shared_.lost(); }

 private:
  RoundReport report() const;
  void take(std::vector<RoundReport> reports);
  void show_progress(std::string_view phase) const;

  const SolveOptions& options_;
  const std::int64_t longest_;  // maximum number of proposals per chain in a round
  parallel::SharedChains shared_;
  std::vector<Chain> chains_;
  std::vector<ChainBest> chain_bests_;
  std::int64_t planned_;
  std::int64_t done_ = 0;
};

}  // namespace dovetail::fuse
