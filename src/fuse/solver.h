// The list of all solvers: constructions, baselines and searches.
#pragma once

#include <span>
#include <string_view>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// A way to make schedules. Plain data: the registry below is the only place that knows them all.
struct Solver {
  std::string_view name;     ///< on the command line and in files
  std::string_view summary;  ///< one line for lists
  bool in_compare = true;    ///< whether `compare` runs it unasked
  bool is_baseline = false;  ///< the one that speed-ups are counted against
  bool searches = false;     ///< whether it uses seed, chains, iterations and time limit
  bool is_shared = false;    ///< whether several processes share its chains out (SolveOptions::exchange)
  Answer (*solve)(const pipeline::Problem& problem, const SolveOptions& options) = nullptr;
};

/// All solvers, in the order in which tables show them. "auto" is the last: the best of the others.
std::span<const Solver> solvers();
/// The solver of that name, if there is one.
const Solver* find_solver(std::string_view name);

}  // namespace dovetail::fuse
