// Varies one input of a job or its plan, and compares the costs.
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
  std::optional<std::string> values = std::nullopt;  ///< see study::parse_values; nullopt: study::default_values
  std::optional<std::string> cap = std::nullopt;     ///< see parse_length_cap
  bool simulate = false;
  int draws = 3;
  PlanSearchOptions search = {};
};
template <std::same_as<SweepRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      option("plan", &T::plan, File{}, "plan to vary (default: the configuration's, else best found)"),
      required("over", &T::over, Choice{}, "input"),
      option("values", &T::values, String{"LIST"},
             "comma-separated values, such as 5%,20% (threshold) or 0.5,2 (length)"),
      option("cap", &T::cap, String{"TOKENS"}, "response cap for --over length: tokens, keep, or scale (default)"),
      option("simulate", &T::simulate, Flag{}, "also simulate every point (always for threshold)"),
      option("draws", &T::draws, Count{1, 1000}, "random draws of sample lengths to simulate (default {})"),
      group(&T::search));
}

struct SweepAnswer {
  predict::Scenario scenario;
  std::optional<plan::Plan> plan;  ///< plan to vary; nullopt for nodes, because each number of nodes has its own plan
  study::Sweep sweep = {};
  Outcome outcome = Outcome::done;
};

/// Errors: invalid options, input that cannot be read, a search that finds no plan that fits, and errors of
/// study::sweep.
base::Result<SweepAnswer> answer_to(const SweepRequest& request, const Callbacks& callbacks);

/// Returns a title such as "ppo-7b, co-located: bandwidth".
std::string title_of(const SweepAnswer& answer);
/// A table with a row per point and a bar for its iteration time; below it, the best point and the point where the plan
/// stops fitting.
Sections sections(const SweepAnswer& answer);
/// A dovetail/sweep@2 object.
std::string to_json(const SweepAnswer& answer);
/// A header and a row per point. Unknown values are empty.
std::string to_csv(const SweepAnswer& answer);

}  // namespace dovetail::answer
