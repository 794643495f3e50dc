// What a solver is, and the solvers that do not search: constructions, and the pattern.
#pragma once

#include <span>
#include <string_view>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// A way to make schedules. Plain data: the registry (solver.h) is the only place that knows them all.
struct Solver {
  std::string_view name;     ///< on the command line and in files
  std::string_view summary;  ///< one line for lists
  bool in_compare = true;    ///< whether `compare` runs it unasked
  bool is_baseline = false;  ///< the one that speed-ups are counted against
  bool searches = false;     ///< whether it looks for better and better schedules, by the options of its kind; else it
                             ///< makes one by rule
  bool is_shared = false;    ///< whether several processes share its chains out (SolveOptions::exchange)
  bool is_weighing = false;  ///< whether it weighs steadiness (SolveOptions::robustness_percent)
  Answer (*solve)(const pipeline::Problem& problem, const SolveOptions& options) = nullptr;
};

/// Those that take a moment and draw nothing at random, in the order in which tables show them.
std::span<const Solver> direct_solvers();

/// Whether all of them together take less than a second: no clock need be looked at between them.
bool are_quick(const pipeline::Problem& problem);

}  // namespace dovetail::fuse
