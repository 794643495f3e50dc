// Searches and ranks the plans of a job. Reports lower bounds, and inputs whose change would make another plan the
// best.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer/plans/open_lengths.h"
#include "answer/plans/search_options.h"
#include "answer/question/section.h"
#include "parallel/exchange.h"
#include "planner/rank/rank.h"
#include "trainers/export/change.h"

namespace dovetail::answer {

struct RankingRequest {
  JobInput job;
  std::vector<std::string> placements = {};  ///< names; empty: the job's placements, or all if the job lists none
  int shown = static_cast<int>(planner::RankOptions{}.shown);
  int simulated = default_simulated;
  PlanSearchOptions search = {};
  std::vector<std::string> allowed = {};  ///< settings of a trainer's configuration that may change, see allowed_of
  /// Number of the alternative to report on, from 1. 0: the fastest, but the unchanged configuration if that has a plan
  /// and no alternative is over 2% faster.
  int alternative = 0;
  /// Processes that share the search, or null. All must make the same request, and all get the same answer.
  const parallel::Exchange* exchange = nullptr;
  /// Called with the best plan so far and its job, whenever the search finds a better one.
  std::function<void(const plan::Plan&, const plan::Job&)> on_better = {};
};
template <std::same_as<RankingRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      option("placement", &T::placements, String{"PLACEMENT"},
             "plan family, such as co-located (repeatable; default: the job's or all)"),
      option("top", &T::shown, Count{1, 1000}, "max plans to show, but at least one per placement (default {})"),
      option("simulate", &T::simulated, Count{0, 1000},
             "number of tied plans to simulate and rank by simulated time (default {})"),
      group(&T::search),
      option("allow", &T::allowed, String{"WHAT"},
             "also try another backend, mode (GPU sharing) or both (backend,mode)"),
      option("way", &T::alternative, Count{0, 1000},
             "number of the --allow variant to report on (default {}: fastest)"),
      unlisted(&T::exchange), unlisted(&T::on_better));
}

/// Result for one alternative.
struct TriedAlternative {
  std::string name;               ///< "as configured", "megatron, 4 of 8 GPUs for engines"
  std::optional<double> seconds;  ///< iteration time of its first plan; nullopt if it has no plan
  std::string rejection;          ///< why it has no plan; empty if it has one, or if the search ended before
};

struct RankingAnswer {
  predict::Scenario scenario;
  planner::Ranking ranking;
  std::vector<planner::Flip> flips;  ///< inputs whose change would make another plan the best
  bool all_inputs_tried = false;     ///< the search for flips tried all inputs; false: it was stopped early
  bool too_many_samples = false;     ///< simulation was requested, but an iteration has too many samples
  Outcome outcome = Outcome::done;
  /// Set if response lengths are unknown and a plan was found: this plan at other lengths, and the best plans found
  /// there.
  std::optional<OpenLengths> open_lengths = std::nullopt;
  std::vector<TriedAlternative> alternatives = {};  ///< empty unless the request allows changes
  std::size_t chosen_alternative = 0;               ///< index of the alternative that the answer refers to
  std::vector<trainers::Change> switches = {};      ///< changes that turn the configuration into the chosen alternative

  /// Returns the Error of a lost process, whose part of the search is missing. Null if all processes finished.
  const base::Error* lost_process() const {
    return ranking.search && ranking.search->lost_process ? &*ranking.search->lost_process : nullptr;
  }
};

/// Errors: invalid options, input that cannot be read, errors of planner::rank_plans, and processes with different
/// jobs. It is not an Error if no plan fits. If response lengths are unknown, plans are searched at each of
/// assumed_shares, and the ranking is the one at default_share.
base::Result<RankingAnswer> answer_to(const RankingRequest& request, const Callbacks& callbacks);

/// Table of plans, tasks of the best plan, and inputs that would change the choice.
Sections sections(const RankingAnswer& answer);
/// A dovetail/ranking@2 object.
std::string to_json(const RankingAnswer& answer);

}  // namespace dovetail::answer
