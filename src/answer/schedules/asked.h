// What questions about schedules are about: a problem, how schedules of it are searched, and what they start from.
#pragma once

#include <optional>
#include <vector>

#include "answer/question/input.h"
#include "answer/question/section.h"
#include "answer/question/watch.h"
#include "answer/schedules/problem_input.h"
#include "answer/schedules/search_progress.h"
#include "base/result.h"
#include "fuse/solution/solution.h"
#include "parallel/exchange.h"

namespace dovetail::answer {

/// What was asked.
struct Asked {
  NamedProblem named;
  fuse::SolveOptions options;  ///< without what is the search's own: start, cancellation, other processes, progress
  fuse::Bounds bounds;         ///< of the problem

  /// Whether `solution` ends by the deadline, where one is asked for.
  bool is_met_by(const fuse::Solution& solution) const {
    return !options.deadline || solution.evaluation.makespan <= *options.deadline;
  }
};

/// What a search has beside what was asked; all of it must outlive the search.
struct SearchContext {
  const fuse::Solution* start = nullptr;         ///< null: none
  const parallel::Exchange* exchange = nullptr;  ///< null: no other processes
  const parallel::Cancellation* stop = nullptr;  ///< who may stop it
  SearchProgress* progress = nullptr;            ///< told how far it is
};
/// The options of a search for what was asked; an Error where they do not go together (fuse::find_fault).
base::Result<fuse::SolveOptions> options_of_search(const Asked& asked, const SearchContext& context);

/// Why no schedule at all can do what is asked.
struct Impossible {
  std::vector<pipeline::CapacityExcess> excess;  ///< of devices that one micro-batch alone is too much for
  bool late = false;                             ///< every schedule ends behind the deadline
};

/// Nothing where some schedule might.
std::optional<Impossible> find_impossible(const Asked& asked);

Sections impossible_sections(const Asked& asked, const Impossible& impossible);

/// What a search reads.
struct SearchInput {
  NamedProblem named;
  std::optional<fuse::Solution> start;
};

/// Reads the problem and the schedule of it to start from, and tells `watch` the problem's name, and that all is read.
/// Where `exchange` names processes that share `chains` out, all have to read the same, and end alike where one cannot.
base::Result<SearchInput> read_search_input(const Input& problem, const std::optional<Input>& from,
                                            const parallel::Exchange* exchange, int chains, const Watch& watch);

}  // namespace dovetail::answer
