#include "answer/schedules/solvers.h"

#include <fmt/format.h>

#include <vector>

#include "answer/words/figures.h"
#include "answer/words/text.h"

namespace dovetail::answer {

base::Result<const fuse::Solver*> solver_named(std::string_view name) {
  if (const fuse::Solver* solver = fuse::find_solver(name); solver != nullptr) return solver;
  std::vector<std::string_view> names;
  for (const fuse::Solver& solver : fuse::solvers()) names.push_back(solver.name);
  return base::bad_input(fmt::format("there is no solver '{}'{}", name, hint_and_list(name, "the solvers are", names)));
}

const fuse::Solver& default_solver() { return fuse::solvers().back(); }

std::string list_of_solvers() {
  std::string text;
  for (const fuse::Solver& solver : fuse::solvers()) text += fmt::format("  {:<20} {}\n", solver.name, solver.summary);
  return text;
}

std::string describe(const pipeline::SolverRecord& solver) {
  std::string text = solver.name;
  if (solver.seed) text += fmt::format(", seed {}", *solver.seed);
  if (solver.chains) text += ", " + counted(*solver.chains, "chain");
  if (solver.iterations) text += " x " + counted(*solver.iterations, "iteration");
  return text;
}

std::string describe_solver(const fuse::Solution& solution) {
  const std::string text = describe(solution.solver);
  return solution.stopped_by ? fmt::format("{}, stopped by {}", text, pipeline::name_of(*solution.stopped_by)) : text;
}

}  // namespace dovetail::answer
