// Shared parts of questions about schedules: problem, search options and starting schedule. Also explains why no
// schedule can satisfy a request.
#pragma once

#include <optional>
#include <vector>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/section.h"
#include "answer/schedules/input_files.h"
#include "answer/schedules/search.h"
#include "base/quantity.h"
#include "base/result.h"
#include "fuse/solution/solution.h"
#include "parallel/exchange.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::answer {

/// Problem, options and bounds of a question.
struct ScheduleQuestion {
  NamedProblem named;
  fuse::SolveOptions options;  ///< without start, cancellation, other processes and progress
  fuse::Bounds bounds;         ///< lower bounds for all schedules of the problem

  /// Whether `solution` meets the deadline; true without a deadline.
  bool is_met_by(const fuse::Solution& solution) const {
    return !options.deadline || solution.evaluation.makespan <= *options.deadline;
  }
};

/// Context of a search, in addition to the question. Everything must outlive the search.
struct SearchContext {
  const fuse::Solution* start = nullptr;         ///< starting schedule; null: none
  const parallel::Exchange* exchange = nullptr;  ///< other processes; null: none
  const parallel::Cancellation* stop = nullptr;  ///< stops the search
  SearchProgress* progress = nullptr;            ///< receives the progress
};
/// Returns the solver options for the question; an Error if one of them is invalid (fuse::find_fault). A time limit is
/// reduced by the time that evaluating and writing the schedule takes, but by three quarters at most.
base::Result<fuse::SolveOptions> options_of_search(const ScheduleQuestion& question, const SearchContext& context);

/// Reasons why no schedule can satisfy the request.
struct Impossible {
  std::vector<pipeline::CapacityExcess> excess;  ///< devices on which a single micro-batch does not fit
  bool misses_deadline = false;                  ///< the deadline is before the lower bound on the makespan
};

/// Returns nullopt if some schedule might satisfy the request.
std::optional<Impossible> find_impossible(const ScheduleQuestion& question);

Sections impossible_sections(const ScheduleQuestion& question, const Impossible& impossible);

/// Problem of a search, with the schedule to start from if one is given.
struct SearchInput {
  NamedProblem named;
  std::optional<fuse::Solution> start;
};

/// Reads the problem and its starting schedule, and reports the problem's name and the end of reading to `callbacks`.
/// If `exchange` is set, standard input is rejected, all processes must read the same input, and all return an Error if
/// one of them fails.
base::Result<SearchInput> read_search_input(const Input& problem, const std::optional<Input>& from,
                                            const parallel::Exchange* exchange, int chains, const Callbacks& callbacks);

/// Returns, for each device, the capacity below which no schedule fits: resident memory plus one micro-batch of the
/// pipeline that needs the most memory there.
std::vector<base::Memory> min_capacities(const pipeline::Problem& problem);
/// Shows min_capacities as a line, or as a table if devices differ.
Sections min_capacity_sections(const pipeline::Problem& problem);

/// Message if no schedule can fit (fuse::find_impossible). excess_table follows it.
inline constexpr const char* impossible_message =
    "no schedule fits in memory: resident memory plus a single micro-batch exceeds the capacity";

/// Returns the largest excess over all devices; 0 if all fit.
base::Memory max_excess(const std::vector<pipeline::CapacityExcess>& excess);

/// Returns a table of peak memory, capacity and excess of the devices on which a schedule does not fit.
Table excess_table(const std::vector<pipeline::CapacityExcess>& excess);

}  // namespace dovetail::answer
