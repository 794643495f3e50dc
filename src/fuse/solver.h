// The registry of all solvers: constructions, baselines and searches.
#pragma once

#include <span>
#include <string_view>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// A scheduling algorithm. The registry in solver.cpp lists all of them.
struct Solver {
  std::string_view name;     ///< name on the command line and in files
  std::string_view summary;  ///< one-line description for lists
  bool in_compare = true;    ///< whether `compare` runs it by default
  bool is_baseline = false;  ///< whether speedups are relative to it
  bool searches = false;     ///< whether it improves schedules iteratively, controlled by the search options;
                             ///< constructions do not
  bool is_shared = false;    ///< whether several processes can share its chains (SolveOptions::exchange)
  bool is_weighing = false;  ///< whether it supports a weight for robustness (SolveOptions::robustness_percent)
  Answer (*solve)(const pipeline::Problem& problem, const SolveOptions& options) = nullptr;
};

/// Returns the solvers that do not search, in the order in which tables list them. They are fast and deterministic.
std::span<const Solver> direct_solvers();

/// Whether all direct solvers together take at most about two seconds on `problem`, so that the time limit need not be
/// checked between them.
bool are_quick(const pipeline::Problem& problem);

/// Returns all solvers, in the order in which tables list them. "auto" is last because it uses the others.
std::span<const Solver> solvers();
/// Returns the solver of that name, or nullptr if it does not exist.
const Solver* find_solver(std::string_view name);

}  // namespace dovetail::fuse
