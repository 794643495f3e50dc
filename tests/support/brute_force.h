// Oracle: finds the optima of tiny problems by trying every schedule. Deliberately simple.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/schedule/op_graph.h"

namespace dovetail::test {

struct BruteForceOptions {
  /// Requires the micro-batches of a mini-batch to start in order of their numbers on every stage, separately for each
  /// kind of op. The optima stay the same (docs/bounds.md, tested against a search without it), and the search is
  /// shorter by many factorials.
  bool in_order = true;
  /// Gives up after placing this many ops.
  std::int64_t max_steps = 20'000'000;
};

/// Optima of a graph.
struct Optimum {
  base::Ticks makespan;
  base::Memory peak_at_makespan;  ///< minimum over schedules with the minimum makespan
  base::Memory min_peak;          ///< minimum over all schedules
};

/// Returns the optima, or nullopt if the search gives up. Use the graph in which each backward that may be split is
/// split: schedules with whole backwards are among its schedules.
std::optional<Optimum> brute_force(const pipeline::OpGraph& graph, const BruteForceOptions& options = {});

/// Returns the minimum makespan, or nullopt if the search gives up.
std::optional<base::Ticks> brute_force_makespan(const pipeline::OpGraph& graph, const BruteForceOptions& options = {});

/// Returns the minimum peak over schedules that end by `deadline`, or nullopt if the search gives up. REQUIRES: such a
/// schedule exists.
std::optional<base::Memory> brute_force_peak(const pipeline::OpGraph& graph, base::Ticks deadline,
                                             const BruteForceOptions& options = {});

}  // namespace dovetail::test
