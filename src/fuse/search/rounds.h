// The rounds of a search: chains shared out over threads and processes, which tell each other at the border of each
// round.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "fuse/search/standings.h"
#include "fuse/search/walk_phases.h"
#include "fuse/solution/solution.h"
#include "parallel/shared_chains.h"

namespace dovetail::fuse {

/// The chains of a search and what is known of all of them. What the search does next may depend on the standings and
/// on the numbers of chains only: then the answer does not depend on who runs which chain.
class Rounds {
 public:
  /// Chain i draws from stream (options.seed, i) and starts from starts[i % size]; process r of n runs the chains r, r
  /// + n, ...
  Rounds(const pipeline::OpGraph& graph, const std::vector<pipeline::Order>& starts, const SolveOptions& options,
         std::int64_t planned_iterations);

  /// The chains of this process, and the number of each among all.
  std::vector<Chain>& chains() { return chains_; }
  int number(std::size_t own) const { return shared_.numbers()[own]; }
  /// [chain number]
  const std::vector<Standing>& standings() const { return standings_; }
  std::int64_t planned() const { return planned_; }
  void plan(std::int64_t iterations) { planned_ = iterations; }
  double seconds() const { return shared_.seconds(); }
  std::int64_t done() const { return done_; }
  /// Whether the user has stopped it, within a round too. What is worked on then need not be finished.
  bool interrupted() const { return shared_.is_cancelled(); }
  /// SolveOptions::brief.
  bool brief() const { return options_.brief; }

  /// Runs `work(own)` for each chain of this process, then takes over what became better in all processes.
  /// `iterations`: what each chain does. `phase` is for progress, `best` chooses the standing that it shows.
  void run(std::string_view phase, std::int64_t iterations, const std::function<void(std::size_t own)>& work);
  /// `iterations` of each chain in rounds, as long as nothing stops them and not is_over(): work(own, count) does
  /// `count` of them.
  void run_rounds(std::string_view phase, std::int64_t iterations, const std::function<bool()>& is_over,
                  const std::function<void(std::size_t own, std::int64_t count)>& work);
  /// Each chain goes on from its own best if it is `good`, or from standing `otherwise`.
  void gather(const std::function<bool(const Standing&)>& good, std::size_t otherwise);

  /// Which standing is the best so far, the first of equals; set by the search.
  std::function<bool(const Standing&, const Standing&)> is_better;
  std::size_t best() const;
  /// Called with the best standing each time it gets better.
  std::function<void(const Standing&)> on_better;

  /// Why there are no more rounds, if so.
  std::optional<pipeline::StoppedBy> stopped() const;
  /// The Error of a lost process.
  const std::optional<base::Error>& lost() const { return shared_.lost(); }

 private:
  RoundReport report() const;
  void take(std::vector<RoundReport> reports);
  void show_progress(std::string_view phase) const;

  const SolveOptions& options_;
  const std::int64_t longest_;  // proposals of a chain between two borders
  parallel::SharedChains shared_;
  std::vector<Chain> chains_;
  std::vector<Standing> standings_;
  std::int64_t planned_;
  std::int64_t done_ = 0;
};

}  // namespace dovetail::fuse
