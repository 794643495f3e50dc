// Solvers by name, and descriptions of their runs.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fuse/solver.h"

namespace dovetail::answer {

/// Finds a solver by name. An Error lists all solvers and suggests a similar one.
base::Result<const fuse::Solver*> solver_named(std::string_view name);

/// Default solver: the last of the registry, which takes the best result of the others.
const fuse::Solver& default_solver();

/// Lists the solvers with their summaries, one per line.
std::string list_of_solvers();

/// "annealing, seed 1, 4 chains x 120000 iterations", as far as recorded.
std::string describe(const pipeline::SolverRecord& solver);
/// The same for a solution, with the reason why its search stopped.
std::string describe_solver(const fuse::Solution& solution);

}  // namespace dovetail::answer
