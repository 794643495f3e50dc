// Forecasts a run of many steps with growing responses: its cost, and when to switch plans.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/plans/search_options.h"
#include "answer/question/section.h"
#include "study/forecast.h"

namespace dovetail::answer {

struct ForecastRequest {
  JobInput job;
  std::optional<Input> plan = std::nullopt;
  int steps = 0;
  // Growth of responses by step. At most one of `lengths`, `mean` and `median` may be set; without them, responses do
  // not grow.
  std::optional<std::string> lengths;  ///< factors (study::parse_growth), or the path of a CSV file
  std::optional<std::string> mean;     ///< mean lengths (study::parse_growth)
  std::optional<std::string> median;   ///< median lengths (study::parse_growth)
  std::optional<std::string> cap;      ///< see parse_length_cap
  std::vector<std::string> pauses;     ///< "STEPS:TIME": a pause of TIME every STEPS steps
  std::optional<double> restart;       ///< duration of a switch to another plan, in seconds
  int searches = study::ForecastOptions{}.searches;
  PlanSearchOptions search = {};
};
template <std::same_as<ForecastRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{.takes_lengths = false}, job_file_help),
      option("plan", &T::plan, File{}, "plan to start with (default: the configuration's, else search)"),
      required("steps", &T::steps, Count{1, study::max_step_number}, "number of training steps (iterations)"),
      option("lengths", &T::lengths, String{"GROWTH"},
             "length factors by step, such as 0:1,500:2.5,1000:4, or a CSV file"),
      option("mean", &T::mean, String{"GROWTH"}, "mean response in tokens by step, such as 500:2000"),
      option("p50", &T::median, String{"GROWTH"}, "median response in tokens by step, such as 500:1500"),
      option("cap", &T::cap, String{"TOKENS"}, "response cap: tokens, scale, or keep (default if only some reach it)"),
      option("pause", &T::pauses, String{"STEPS:TIME"},
             "pause for checkpoints or evaluation, such as 100:5m (repeatable)"),
      option("restart", &T::restart, Seconds{}, "time that a switch of plans takes (default: 0)"),
      option("searches", &T::searches, Count{0, 100},
             "number of lengths to search plans for; 0: keep the plan (default {})"),
      group(&T::search));
}

struct ForecastAnswer {
  predict::Scenario scenario;
  std::int64_t steps = 0;           ///< as requested
  std::optional<std::int64_t> cap;  ///< cap of grown responses, in tokens; nullopt: no cap
  study::Forecast forecast;
  Outcome outcome = Outcome::done;  ///< infeasible if at some step no plan fits
};

/// Errors: invalid options, input that cannot be read, and errors of study::forecast.
base::Result<ForecastAnswer> answer_to(const ForecastRequest& request, const Callbacks& callbacks);

/// Returns the name of plan number `index`, counted from 0: "A", "B", ..., "Z", "A1", ...
std::string plan_letter(std::size_t index);

/// Cost of the run, schedule of plans, growth of lengths, and the outcome if the first plan were kept.
Sections sections(const ForecastAnswer& answer);
/// A dovetail/forecast@1 object.
std::string to_json(const ForecastAnswer& answer);

}  // namespace dovetail::answer
