// What a solver is asked for and what it answers: options, solutions, and which of two is better.
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

/// What a search tells while it works.
struct Progress {
  std::string_view phase;               ///< "makespan", "peak", ...
  base::Ticks makespan;                 ///< best so far
  base::Memory peak_activation;         ///< of the best so far
  std::int64_t iterations = 0;          ///< done, per chain
  std::int64_t iterations_planned = 0;  ///< of the whole run, per chain
  double iterations_per_second = 0;     ///< all chains together
  double seconds_left = 0;              ///< at this speed
};

struct Solution;

/// What makes one schedule better than another, among those that fit.
enum class Objective {
  makespan,  ///< the least makespan, then the least peak activation at it
  memory,    ///< the least peak activation, then the least makespan at it
};
constexpr auto names_of(Objective) {
  return std::array{base::EnumName{"makespan", Objective::makespan}, base::EnumName{"memory", Objective::memory}};
}

/// How to search. Constructions use what says which schedule is better (objective, deadline, memory_cap), and
/// cancellation.
struct SolveOptions {
  Objective objective = Objective::makespan;
  /// Schedules that end by then count as equally long: the least peak at a deadline.
  std::optional<base::Ticks> deadline;
  int robustness_percent = 0;  ///< 0: makespan alone; w: (100 - w)% makespan, w% its 95th percentile under 5% variation
  const Solution* start = nullptr;  ///< a schedule of the same problem to start from (any BackwardForm)
  std::uint64_t seed = 1;
  int chains = 4;
  std::optional<std::int64_t> iterations;  ///< per chain; absent: chosen from the problem's size
  /// Likewise, of `auto` for each mini-batch by itself where there are several.
  std::optional<std::int64_t> iterations_alone;
  /// Absent: none; chooses the iterations from the speed measured at the start.
  std::optional<double> time_limit_seconds;
  int threads = 1;  ///< never changes the answer
  /// What bounds beyond Bounds may cost, of a search and of what the schedule claims (BoundOptions::work); absent: the
  /// default.
  std::optional<std::int64_t> proof_work;
  /// A search leaves out what takes its time however few its iterations are: looking for the steadiest of equal
  /// schedules (unless robustness_percent weighs it), losing its way for longer than it cools, and of `auto` patterns
  /// of all mini-batches at once (it has them of each alone) and for less room than there is.
  bool brief = false;
  std::optional<base::Memory> memory_cap;  ///< per device, beside the problem's capacity: the smaller holds
  const parallel::Cancellation* cancellation = nullptr;
  const parallel::Exchange* exchange = nullptr;  ///< the processes that share out the chains; absent: this one alone
  std::function<void(const Progress&)> on_progress;  ///< called from the calling thread, between rounds
  std::function<void(const Solution&)> on_better;    ///< the best so far, each time it got better; likewise
};

/// A valid schedule of `problem`, as an order of the ops of `graph` and the earliest times that it gives.
struct Solution {
  pipeline::Problem problem;                ///< the one asked for, or a derived one: see other_layout
  std::optional<std::string> other_layout;  ///< says what was changed where this is a schedule of a derived problem
  pipeline::OpGraph graph;
  pipeline::Order order;
  pipeline::Evaluation evaluation;
  pipeline::SolverRecord solver;
  std::optional<pipeline::StoppedBy> stopped_by = std::nullopt;  ///< absent for constructions
  std::optional<base::Ticks> proven_makespan = std::nullopt;     ///< a lower bound that the solver itself proved
  std::optional<base::Memory> proven_peak = std::nullopt;        ///< likewise on the peak activation, at this makespan
  std::optional<base::Error> lost_process = std::nullopt;  ///< of the exchange: the search ended early because of it
};

/// Why a solver has no schedule for a problem.
struct NotApplicable {
  std::string why;
};

using Answer = std::variant<Solution, NotApplicable>;

/// The lesser is the better: what exceeds the capacities; then, by the objective, makespan (all that keep the deadline
/// are alike) and peak activation, or peak activation and makespan; then makespan.
using Rank = std::array<std::int64_t, 4>;
Rank rank_of(base::Memory excess, base::Ticks makespan, base::Memory peak, const SolveOptions& options);

/// Whether `a` ranks before `b`, its excess being that of all devices together.
bool is_better(const Solution& a, const Solution& b, const SolveOptions& options);

/// The schedule of a solution with all that its file says: times, bounds, what is proven optimal, who made it. `proof`:
/// what the bound on the peak may cost.
pipeline::Schedule to_schedule(const Solution& solution, const Bounds& bounds, BoundOptions proof = {});

}  // namespace dovetail::fuse
