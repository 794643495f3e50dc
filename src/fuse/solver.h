// The interface that every solver has, and the list of all of them: constructions, baselines and searches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "fuse/bounds.h"
#include "parallel/cancellation.h"
#include "pipeline/evaluate.h"
#include "pipeline/schedule.h"

namespace dovetail::fuse {

/// What a search tells while it works.
struct Progress {
  std::string_view phase;               ///< "latency", "memory", ...
  base::Ticks makespan;                 ///< best so far
  base::Memory peak_activation;         ///< of the best so far
  std::int64_t iterations = 0;          ///< done, per chain
  std::int64_t iterations_planned = 0;  ///< of the whole run, per chain
  double iterations_per_second = 0;     ///< all chains together
  double seconds_left = 0;              ///< at this speed
};

/// How to search. Constructions use only memory_cap and cancellation.
struct SolveOptions {
  std::uint64_t seed = 1;
  int chains = 4;
  std::optional<std::int64_t> iterations;    ///< per chain; absent: chosen from the problem's size
  std::optional<double> time_limit_seconds;  ///< absent: none; chooses the iterations from the speed measured at the start
  int threads = 1;                           ///< never changes the answer
  std::optional<base::Memory> memory_cap;    ///< per device, beside the problem's capacity: the smaller holds
  const parallel::Cancellation* cancellation = nullptr;
  std::function<void(const Progress&)> on_progress;  ///< called from the calling thread, between rounds
};

/// A valid schedule of `problem`, as an order of the ops of `graph` and the earliest times that it gives.
struct Solution {
  pipeline::Problem problem;                ///< the one asked for, or a derived one: see other_layout
  std::optional<std::string> other_layout;  ///< says what was changed where this is a schedule of a derived problem
  pipeline::OpGraph graph;
  pipeline::Order order;
  pipeline::Evaluation evaluation;
  pipeline::SolverRecord solver;
  std::optional<pipeline::StoppedBy> stopped_by;  ///< absent for constructions
};

/// Why a solver has no schedule for a problem.
struct NotApplicable {
  std::string why;
};

using Answer = std::variant<Solution, NotApplicable>;

/// A way to make schedules. Plain data: the registry below is the only place that knows them all.
struct Solver {
  std::string_view name;     ///< on the command line and in files
  std::string_view summary;  ///< one line for lists
  bool in_compare = true;    ///< whether `compare` runs it unasked
  bool is_baseline = false;  ///< the one that speed-ups are counted against
  bool searches = false;     ///< whether it uses seed, chains, iterations and time limit
  Answer (*solve)(const pipeline::Problem& problem, const SolveOptions& options) = nullptr;
};

/// All solvers, in the order in which tables show them. "auto" is the last: the best of the others.
std::span<const Solver> solvers();
/// The solver of that name, if there is one.
const Solver* find_solver(std::string_view name);

/// Whether `a` is better than `b`: fits where b does not (or has the lesser excess), then makespan, then peak activation.
bool is_better(const Solution& a, const Solution& b, std::optional<base::Memory> cap);

/// The schedule of a solution with all that its file says: times, bounds, what is proven optimal, who made it.
pipeline::Schedule to_schedule(const Solution& solution, const Bounds& bounds);

}  // namespace dovetail::fuse
