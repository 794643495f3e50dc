#include "fuse/solver.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "fuse/annealing/annealing.h"
#include "fuse/exact/exact.h"
#include "fuse/portfolio.h"
#include "fuse/search/search.h"

namespace dovetail::fuse {
namespace {

constexpr Solver searching[] = {
    {.name = "annealing",
     .summary = "the simulated annealing of RLHFuse, its cooling fitted to the iterations",
     .searches = true,
     .solve = solve_annealing},
    {.name = "annealing-published",
     .summary = "the same with the parameters and iterations of its published experiment (minutes)",
     .in_compare = false,
     .searches = true,
     .solve = solve_annealing_published},
    {.name = "exact",
     .summary = "the proven optimum of small problems, by branch and bound",
     .in_compare = false,
     .searches = true,
     .solve = solve_exact},
    {.name = "search",
     .summary = "walks among schedules: least makespan, then least peak at it",
     .searches = true,
     .is_shared = true,
     .is_weighing = true,
     .solve = solve_search},
    {.name = "auto",
     .summary = "constructions, pattern, and what searches the problem best: the one to use",
     .in_compare = false,
     .searches = true,
     .is_shared = true,
     .is_weighing = true,
     .solve = solve_auto},
};

std::vector<Solver> all_solvers() {
  const std::span<const Solver> direct = direct_solvers();
  std::vector<Solver> all(direct.begin(), direct.end());
  all.insert(all.end(), std::begin(searching), std::end(searching));
  return all;
}

}  // namespace

std::span<const Solver> solvers() {
  static const std::vector<Solver> all = all_solvers();
  return all;
}

const Solver* find_solver(std::string_view name) {
  const std::span<const Solver> all = solvers();
  const auto found = std::find_if(all.begin(), all.end(), [name](const Solver& solver) { return solver.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace dovetail::fuse
