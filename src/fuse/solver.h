// The list of all solvers: constructions, baselines and searches.
#pragma once

#include <span>
#include <string_view>

#include "fuse/direct_solvers.h"

namespace dovetail::fuse {

/// All solvers, in the order in which tables show them. "auto" is the last: it uses the others.
std::span<const Solver> solvers();
/// The solver of that name, if there is one.
const Solver* find_solver(std::string_view name);

}  // namespace dovetail::fuse
