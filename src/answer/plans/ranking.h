// Which plans a job can have, searched and ranked, beside what none can beat and what would change the choice.
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
  std::vector<std::string> placements = {};  ///< by their names; none: those that the job names, or all
  int shown = static_cast<int>(planner::RankOptions{}.shown);
  int simulated = default_simulated;
  PlanSearchOptions search = {};
  std::vector<std::string> allowed = {};  ///< what of a trainer's configuration may be another (allowed_of)
  int way = 0;  ///< the number of the way to run the job that is answered, as the table has it; 0: the fastest
  /// Who shares the search out: each of them asks the same question and gets the same answer. Null: nobody.
  const parallel::Exchange* exchange = nullptr;
  /// Called with the best plan so far and the job, each time the search has met a better one.
  std::function<void(const plan::Plan&, const plan::Job&)> on_better = {};
};
template <std::same_as<RankingRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      option("placement", &T::placements, Words{"PLACEMENT"},
             "only this family of plans (may be given several times): co-located, interleaving, disaggregated, "
             "megatron, rlhfuse, searched"),
      option("top", &T::shown, Count{1, 1000}, "how many plans to show at most"),
      option("simulate", &T::simulated, Count{0, 1000},
             "of the first plans that are ties, how many to play event by event at most, and to order by that (default "
             "{}, as other commands do)"),
      group(&T::search),
      option("allow", &T::allowed, Words{"WHAT"},
             "of a trainer's configuration: look at other ways to run its job, too: backend (FSDP or Megatron), mode "
             "(engines that share the trainer's GPUs, or have some of their own), or backend,mode"),
      option("way", &T::way, Count{0, 1000},
             "with --allow: answer this way of its table, in place of the fastest (default {}: that)"),
      unlisted(&T::exchange), unlisted(&T::on_better));
}

/// What a way to run the job came to.
struct TriedWay {
  std::string name;               ///< "as it is", "megatron, 4 of 8 GPUs for engines"
  std::optional<double> seconds;  ///< of an iteration of its first plan
  std::string refusal;            ///< why it has none
};

struct RankingAnswer {
  predict::Scenario scenario;
  planner::Ranking ranking;
  std::vector<planner::Flip> flips;
  bool all_inputs_tried = false;  ///< for the flips, before the time was over
  bool too_many_samples = false;  ///< to play any of the plans, as was asked for
  Outcome outcome = Outcome::done;
  /// Where nobody says how long responses are: the first plan at other lengths than the scenario's, and what was found
  /// there.
  std::optional<OpenLengths> open_lengths = std::nullopt;
  std::vector<TriedWay> ways = {};              ///< where others than the configuration itself are allowed
  std::size_t chosen_way = 0;                   ///< which of them the answer is of
  std::vector<trainers::Change> switches = {};  ///< that make it of the configuration

  /// The process that was lost: with it there might have been a better answer. Null where none was.
  const base::Error* lost_process() const {
    return ranking.search && ranking.search->lost_process ? &*ranking.search->lost_process : nullptr;
  }
};

/// Errors of what is read, those of planner::rank_plans, and that another process has read another job. That no plan
/// fits is none. A trainer's configuration without lengths is searched for at each of open_parts, and answered at
/// answered_part.
base::Result<RankingAnswer> ask(const RankingRequest& request, const Watch& watch);

/// The table of plans, the best one's tasks, and what decides.
Sections sections(const RankingAnswer& answer);
/// A dovetail/ranking@2 object.
std::string to_json(const RankingAnswer& answer);

}  // namespace dovetail::answer
