// Options and results of solvers, and how results are ranked.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/enum_names.h"
#include "base/result.h"
#include "fuse/bounds/bounds.h"
#include "parallel/cancellation.h"
#include "parallel/exchange.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// Progress report of a search.
struct Progress {
  std::string_view phase;               ///< current phase: "makespan", "peak", ...
  base::Ticks makespan;                 ///< makespan of the best schedule so far
  base::Memory peak_activation;         ///< peak activation of the best schedule so far
  std::int64_t iterations = 0;          ///< iterations done per chain
  std::int64_t iterations_planned = 0;  ///< iterations of the whole run per chain
  double iterations_per_second = 0;     ///< speed of all chains together
  double seconds_left = 0;              ///< estimated from the speed and the time limit; 0: unknown
};

struct Solution;

/// Quantity to minimize first among schedules that fit.
enum class Objective {
  makespan,  ///< minimum makespan, then minimum peak activation
  memory,    ///< minimum peak activation, then minimum makespan
};
constexpr auto names_of(Objective) {
  return std::array{base::EnumName{"makespan", Objective::makespan}, base::EnumName{"memory", Objective::memory}};
}

/// Options of a solver. Constructions use only the ranking options (objective, deadline, memory_cap) and cancellation;
/// `pattern` also uses threads and time_limit_seconds.
struct SolveOptions {
  Objective objective = Objective::makespan;
  /// Schedules that end by the deadline count as equally long, so their peak decides. Absent: no deadline.
  std::optional<base::Ticks> deadline;
  /// Weight w of robustness. The schedule is rated by (100 - w)% of its makespan plus w% of the 95th percentile of its
  /// makespan when durations vary by up to 5%. 0: by the makespan alone.
  int robustness_percent = 0;
  const Solution* start = nullptr;  ///< schedule of the same problem to start from (any BackwardForm)
  std::uint64_t seed = 1;
  int chains = 4;
  /// Iterations per chain. Absent: chosen from the time limit and the measured speed, or from the problem's size if
  /// there is no time limit.
  std::optional<std::int64_t> iterations;

  /// Iterations per chain that `auto` uses to schedule each mini-batch alone, if a model has several. Absent: chosen
  /// from the problem's size.
  std::optional<std::int64_t> iterations_alone;
  std::optional<double> time_limit_seconds;  ///< absent: no limit
  int threads = 1;                           ///< number of threads; affects the result only through a time limit

  /// Work limit for proofs beyond Bounds, in a search and for the schedule's claims (BoundOptions::work). Absent: the
  /// default.
  std::optional<std::int64_t> proof_work;
  /// Skips work whose duration does not depend on the iterations. A search then does not look for the most robust of
  /// equal schedules (unless robustness_percent is above 0), and limits loosening (docs/search.md) to the length of a
  /// cooling. `auto` does not run `pattern` for smaller capacities. If a model has several mini-batches, `auto` runs
  /// `pattern` only for each mini-batch alone.
  bool brief = false;
  /// Memory limit of each device in addition to the problem's capacity. The smaller limit applies. Absent: only the
  /// capacity.
  std::optional<base::Memory> memory_cap;
  const parallel::Cancellation* cancellation = nullptr;
  const parallel::Exchange* exchange = nullptr;      ///< processes that share the chains; null: only this one
  std::function<void(const Progress&)> on_progress;  ///< called from the calling thread, between rounds

  /// Called with the best solution so far whenever there is a better one, from the calling thread.
  std::function<void(const Solution&)> on_better;

  /// Whether several processes share the search.
  bool is_shared() const { return exchange && exchange->ranks > 1; }
};

/// Returns `estimate`, the seconds that a search still needs, but at most the time that its time limit leaves after
/// `seconds`.
double limit_seconds_left(const SolveOptions& options, double estimate, double seconds);

/// A schedule of `problem` that is valid, except that it may exceed the capacity: an order of the ops of `graph` and
/// the earliest times that the order allows.
struct Solution {
  pipeline::Problem problem;                ///< the requested problem or a derived one: see other_layout
  std::optional<std::string> other_layout;  ///< describes the change if this is a schedule of a derived problem
  pipeline::OpGraph graph;
  pipeline::Order order;
  pipeline::Evaluation evaluation;
  pipeline::SolverRecord solver;
  /// Reason why the search stopped; absent for constructions
  std::optional<pipeline::StoppedBy> stopped_by = std::nullopt;
  /// Lower bound on the makespan that the solver itself proved, if any
  std::optional<base::Ticks> proven_makespan = std::nullopt;

  /// Lower bound on the peak activation at this makespan that the solver itself proved, if any
  std::optional<base::Memory> proven_peak = std::nullopt;
  /// Error of a lost process; absent unless the loss of a process ended the search early
  std::optional<base::Error> lost_process = std::nullopt;
};

/// The reason why a solver has no schedule for a problem.
struct NotApplicable {
  std::string why;
};

using Answer = std::variant<Solution, NotApplicable>;

/// Ranking of schedules; lower is better. Compares the excess over the capacities first. Then, for Objective::memory
/// without a deadline, compares the peak activation, then the makespan. Otherwise, compares the makespan, then the peak
/// activation. With a deadline, makespans within it count as equal, and the actual makespan decides last.
using Rank = std::array<std::int64_t, 4>;
Rank rank_of(base::Memory excess, base::Ticks makespan, base::Memory peak, const SolveOptions& options);

/// Whether `a` ranks before `b`. Their excess is summed over all devices.
bool is_better(const Solution& a, const Solution& b, const SolveOptions& options);

/// Returns the schedule of a solution as stored in a file: times, bounds, optimality claims and solver record. `proof`
/// limits the cost of the bound on the peak.
pipeline::Schedule to_schedule(const Solution& solution, const Bounds& bounds, BoundOptions proof = {});

}  // namespace dovetail::fuse
