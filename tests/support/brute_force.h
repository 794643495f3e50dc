// The oracle: the true optima of tiny problems, by trying every schedule. Deliberately simple.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/schedule/op_graph.h"

namespace dovetail::test {

struct BruteForceOptions {
  /// Micro-batches of a mini-batch start in order of their numbers on every stage, for each kind of op apart. It loses
  /// nothing (docs/bounds.md, tested against a search without it) and saves a factor of many factorials.
  bool in_order = true;
  /// Gives up beyond this many ops placed.
  std::int64_t max_steps = 20'000'000;
};

/// The true optima of a graph.
struct Optimum {
  base::Ticks makespan;
  base::Memory peak_at_makespan;  ///< least, over schedules of the least makespan
  base::Memory min_peak;          ///< least, over all schedules
};

/// All three, unless the search gives up. Try the split form of a problem first: whole backwards are among its
/// schedules.
std::optional<Optimum> brute_force(const pipeline::OpGraph& graph, const BruteForceOptions& options = {});

/// The least makespan, unless the search gives up.
std::optional<base::Ticks> brute_force_makespan(const pipeline::OpGraph& graph, const BruteForceOptions& options = {});

/// The least peak over schedules that end by `deadline`, unless the search gives up. REQUIRES: there is one.
std::optional<base::Memory> brute_force_peak(const pipeline::OpGraph& graph, base::Ticks deadline,
                                             const BruteForceOptions& options = {});

}  // namespace dovetail::test
