// From a problem to a usable schedule: the interface for programs that embed Dovetail and for its own command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fuse/solver.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// A solution with its bounds and its validated schedule.
struct Solved {
  Solution solution;
  Bounds bounds;                ///< bounds of solution.problem: the requested problem or a derived one
  pipeline::Schedule schedule;  ///< with the capacity lowered to the memory cap; valid if `excess` is empty
  std::vector<pipeline::CapacityExcess> excess;  ///< devices whose limit the schedule exceeds
  double seconds = 0;                            ///< wall time of the solver
};

/// Schedules `problem` with the solver named `solver_name`. fuse::solvers() lists the names; "auto" is the recommended
/// one. The returned schedule has passed the validator and fits in memory. It is a schedule of `problem` with the
/// capacity lowered to options.memory_cap, unless solved.solution.other_layout is set. It is never worse than
/// options.start, unless other_layout is set or options.robustness_percent is above 0.
///
/// A search that stops early returns its best schedule so far: at its time limit, on options.cancellation or on the
/// loss of another process. See solution.stopped_by and solution.lost_process.
///
/// Errors, by their base::Failure:
/// - bad_input if the problem is invalid (pipeline::find_fault; pipeline::with_defaults fills in omitted values), an
///   option is out of range, the solver does not exist, or it is not applicable to this problem
/// - infeasible if no schedule can fit in memory, if the solver found none that fits (the message describes the
///   excess), or if the time limit of options.cancellation expired before a schedule was found
/// - interrupted if options.cancellation was requested before a schedule was found
/// - lost if a process of options.exchange was lost before a schedule that fits was found
base::Result<Solved> solve(const pipeline::Problem& problem, std::string_view solver_name,
                           const SolveOptions& options = {});

/// Returns a message if `options` are invalid for `problem`, otherwise nullopt.
std::optional<std::string> find_fault(const SolveOptions& options, const pipeline::Problem& problem);

/// Converts a schedule into a solution to start from (SolveOptions::start): its order, with the earliest times that the
/// order allows (with its own times if ops without duration make the order deadlock). Returns a Failure::invalid Error
/// that names the rule if the schedule breaks one. A schedule that only exceeds the capacity is accepted.
base::Result<Solution> to_solution(const pipeline::Schedule& schedule);

// run_solver and assess are the steps of solve(), for callers that also need schedules that do not fit. Both require
// that find_fault finds nothing in the problem and in the options.

/// Runs `solver`; `bounds` are the bounds of `problem`. The schedule is never worse than options.start, with the
/// exceptions of solve(). Returns a bad_input Error with the reason if the solver is not applicable, or the Error of
/// parallel::stopped_before if it was stopped before a schedule was found. A schedule that does not fit is returned
/// with its excess.
base::Result<Solved> run_solver(const Solver& solver, const pipeline::Problem& problem, const Bounds& bounds,
                                const SolveOptions& options);

/// Builds and validates the schedule of `solution`; `problem_bounds` are the bounds of the requested problem. Uses
/// proof_work, cancellation and memory_cap of `options`. The memory cap becomes the capacity of the schedule's problem
/// if that capacity is absent or larger.
Solved assess(Solution solution, const Bounds& problem_bounds, const SolveOptions& options);

/// Returns "device 3 holds 12.5 but may hold only 10 (2.5 too much); ..." for the eight devices with the largest
/// excess, followed by the number of other devices with an excess: "; 2 more".
std::string describe_excess(const std::vector<pipeline::CapacityExcess>& excess);

}  // namespace dovetail::fuse
