#include "fuse/solver.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "fuse/annealing/annealing.h"
#include "fuse/constructions/constructions.h"
#include "fuse/exact/exact.h"
#include "fuse/pattern/pattern.h"
#include "fuse/portfolio.h"
#include "fuse/search/search.h"

namespace dovetail::fuse {
namespace {

constexpr Solver direct_list[] = {
    {.name = "gpipe", .summary = "all forwards, then all backwards; models one after the other", .solve = solve_gpipe},
    {.name = "1f1b",
     .summary = "one forward, one backward; models one after the other",
     .is_baseline = true,
     .solve = solve_1f1b},
    {.name = "1f1b+",
     .summary = "1f1b with half the stages and twice the replicas (different layout)",
     .solve = solve_1f1b_plus},
    {.name = "interleaved-1f1b",
     .summary = "1f1b with several stages per device, cycling through the devices",
     .solve = solve_interleaved_1f1b},
    {.name = "zb-h1", .summary = "zero bubble for split backwards, within the memory of 1f1b", .solve = solve_zb_h1},
    {.name = "zb-h2",
     .summary = "zero bubble for split backwards, with up to twice the memory of 1f1b",
     .solve = solve_zb_h2},
    {.name = "zb-v", .summary = "zero bubble for split backwards and stages in a V", .solve = solve_zb_v},
    {.name = "one-at-a-time", .summary = "one micro-batch at a time: minimum memory", .solve = solve_one_at_a_time},
    {.name = "chimera", .summary = "two equal pipelines in opposite directions, merged", .solve = solve_chimera},
    {.name = "fused-1f1b", .summary = "1f1b of all models at once, without barriers", .solve = solve_fused_1f1b},
    {.name = "greedy",
     .summary = "greedy algorithm of RLHFuse: earliest start, without delaying the first model",
     .solve = solve_greedy},
    {.name = "list",
     .summary = "list scheduling: best of a grid of priorities and in-flight caps",
     .solve = solve_list},
    {.name = "pattern",
     .summary = "warm-up, repeated pattern and drain, for many micro-batches",
     .solve = solve_pattern},
};

}  // namespace

std::span<const Solver> direct_solvers() { return direct_list; }

bool are_quick(const pipeline::Problem& problem) {
  constexpr std::int64_t max_ops = 20'000;
  return pipeline::count_ops(problem) <= max_ops;
}

namespace {

constexpr Solver searching[] = {
    {.name = "annealing",
     .summary = "simulated annealing of RLHFuse, cooling fitted to the iterations",
     .searches = true,
     .solve = solve_annealing},
    {.name = "annealing-published",
     .summary = "annealing with the published parameters and iterations (minutes)",
     .in_compare = false,
     .searches = true,
     .solve = solve_annealing_published},
    {.name = "exact",
     .summary = "proven optimum of small problems, by branch and bound",
     .in_compare = false,
     .searches = true,
     .solve = solve_exact},
    {.name = "search",
     .summary = "local search by swaps: minimum makespan, then minimum peak at that makespan",
     .searches = true,
     .is_shared = true,
     .is_weighing = true,
     .solve = solve_search},
    {.name = "auto",
     .summary = "constructions, pattern and the most suitable search (recommended)",
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
