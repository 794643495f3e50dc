// Solvers as requests name them, and what they did.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fuse/solver.h"

namespace dovetail::answer {

/// The solver of that name, or an Error that names all, with the nearest.
base::Result<const fuse::Solver*> solver_named(std::string_view name);

/// The solver that is used unless another is asked for: the last of the registry, which is the best of the others.
const fuse::Solver& default_solver();

/// The solvers with what they do, a line each.
std::string list_of_solvers();

/// "annealing, seed 1, 4 chains x 120000 iterations", as far as the record goes.
std::string describe(const pipeline::SolverRecord& solver);
/// The same of a solution's, with what ended its search.
std::string describe_solver(const fuse::Solution& solution);

}  // namespace dovetail::answer
