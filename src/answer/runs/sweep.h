// One input of a job or of its plan varied, and what each value costs.
#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "answer/plans/search_options.h"
#include "answer/question/section.h"
#include "study/sweep.h"

namespace dovetail::answer {

struct SweepRequest {
  JobInput job;
  std::optional<Input> plan = std::nullopt;
  study::SweepInput over = study::SweepInput::threshold;
  std::optional<std::string> values =
      std::nullopt;                               ///< as study::parse_values reads them; nothing: study::default_values
  std::optional<std::string> cap = std::nullopt;  ///< as parse_length_cap reads it
  bool simulate = false;
  int draws = 3;
  PlanSearchOptions search = {};
};
template <std::same_as<SweepRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      option("plan", &T::plan, File{}, "the plan, a dovetail/plan@1 file, in place of the best that is found"),
      required("over", &T::over, Choice{}, "what varies; of nodes plans are found anew"),
      option("values", &T::values, Words{"LIST"},
             "its values, separated by commas: 5%,20% of threshold, factors of length, micro-batch and bandwidth, else "
             "numbers"),
      option("cap", &T::cap, Words{"TOKENS"},
             "of --over length: where responses end: tokens, keep (the job's longest) or scale (none: the longest grow "
             "as all do; the default)"),
      option("simulate", &T::simulate, Flag{}, "also play every point event by event (of threshold: always)"),
      option("draws", &T::draws, Count{1, 1000}, "how often the lengths of all samples are drawn and played"),
      group(&T::search));
}

struct SweepAnswer {
  predict::Scenario scenario;
  std::optional<plan::Plan> plan;  ///< the one whose input varies; nothing of nodes, where each point has its own
  study::Sweep sweep = {};
  Outcome outcome = Outcome::done;
};

/// Errors of the options; of what is read; where no plan fits and none is given; those of study::sweep.
base::Result<SweepAnswer> ask(const SweepRequest& request, const Watch& watch);

/// "ppo-7b, co-located: prompts an iteration".
std::string title_of(const SweepAnswer& answer);
/// A line a point with a bar of its iteration, what is best, and where the plan stops fitting.
Sections sections(const SweepAnswer& answer);
/// A dovetail/sweep@2 object.
std::string to_json(const SweepAnswer& answer);
/// A header and a line a point; empty cells where there is nothing.
std::string to_csv(const SweepAnswer& answer);

}  // namespace dovetail::answer
