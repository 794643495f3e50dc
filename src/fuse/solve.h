// The way from a problem to a schedule that may be used: for programs that embed Dovetail, and for its own command
// line.
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

/// A solution with what is proven of it.
struct Solved {
  Solution solution;
  Bounds bounds;                ///< of the problem that it solves: the one asked for, or a derived one
  pipeline::Schedule schedule;  ///< with start times and claims, of the problem within the cap; valid unless:
  std::vector<pipeline::CapacityExcess> excess;  ///< of the devices that do not fit
  double seconds = 0;                            ///< wall time of the solver
};

/// Schedules `problem` with the solver of that name (fuse::solvers() lists them; "auto" is the best of all). What is
/// answered has passed the validator and fits the memory. It is a schedule of `problem` (its capacity lowered to
/// options.memory_cap), except where solved.solution.other_layout says otherwise. It is never worse than options.start,
/// unless options.robustness_percent weighs what else is better. A search that is stopped by its time limit, by
/// options.cancellation or by the loss of another process answers with the best so far: see solution.stopped_by and
/// solution.lost_process.
///
/// An Error is
/// - bad_input where the problem is none (pipeline::find_fault; pipeline::with_defaults fills in what was left out), an
/// option is out
///   of range, there is no such solver, or it is not applicable to this problem;
/// - infeasible where no schedule that was found fits the memory, with the excess of each device;
/// - interrupted where options.cancellation was requested before one was found;
/// - io where another process was lost before one was found that fits.
base::Result<Solved> solve(const pipeline::Problem& problem, std::string_view solver_name,
                           const SolveOptions& options = {});

/// What makes `options` unusable for `problem`, as a message; nothing if they are sound.
std::optional<std::string> find_fault(const SolveOptions& options, const pipeline::Problem& problem);

/// The schedule as a solution to start from (SolveOptions::start): its order, at the earliest times that it gives. An
/// Error (invalid) that says which rule it breaks where it is not valid; one that only holds more than the capacity is
/// taken.
base::Result<Solution> to_solution(const pipeline::Schedule& schedule);

/// The parts of solve(), for who wants to see also what does not fit. All REQUIRE: no find_fault.

/// Runs `solver`; `bounds` are those of `problem`. The answer is as good as options.start, as that of solve(). A solver
/// that is not applicable is an Error (bad_input) that says why; a schedule that does not fit is a value with an
/// excess.
base::Result<Solved> run_solver(const Solver& solver, const pipeline::Problem& problem, const Bounds& bounds,
                                const SolveOptions& options);

/// Makes the schedule of `solution` and validates it; `problem_bounds` are those of the problem that was asked for. Of
/// `options` count memory_cap, which becomes the capacity of the schedule's problem where that has none or a larger
/// one, and proof_work.
Solved assess(Solution solution, const Bounds& problem_bounds, const SolveOptions& options);

/// "device 3 holds 12.5 and may hold 10 (2.5 too much); ...", for the devices with the largest excess.
std::string describe_excess(const std::vector<pipeline::CapacityExcess>& excess);

}  // namespace dovetail::fuse
