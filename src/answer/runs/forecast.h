// A run of many steps whose responses grow: what it takes, and when to plan again.
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
  // How responses grow: one of these, or none.
  std::optional<std::string> lengths;  ///< factors, as study::parse_growth reads them, or a file's name
  std::optional<std::string> mean;
  std::optional<std::string> median;
  std::optional<std::string> cap;   ///< as parse_length_cap reads it
  std::vector<std::string> pauses;  ///< "STEPS:TIME"
  std::optional<double> restart;    ///< seconds
  int searches = study::ForecastOptions{}.searches;
  PlanSearchOptions search = {};
};
template <std::same_as<ForecastRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{.takes_lengths = false}, job_file_help),
      option("plan", &T::plan, File{}, "begin with this plan, a dovetail/plan@1 file"),
      required("steps", &T::steps, Count{1, study::max_step_number}, "how many steps (iterations)"),
      option("lengths", &T::lengths, Words{"GROWTH"},
             "factors of all response lengths at steps, linear between them: 0:1,500:2.5,1000:4; or a CSV file with "
             "the columns step and factor, mean or p50"),
      option("mean", &T::mean, Words{"GROWTH"}, "the same by the mean response, in tokens: 500:2000"),
      option("p50", &T::median, Words{"GROWTH"}, "the same by the length that half of them reach: 500:1500"),
      option("cap", &T::cap, Words{"TOKENS"},
             "where responses end: tokens, keep (the job's longest, the default where lengths vary) or scale (none)"),
      option("pause", &T::pauses, Words{"STEPS:TIME"},
             "every so many steps the run stands still so long, for checkpoints or evaluation: 100:5m (may be given "
             "several times)"),
      option("restart", &T::restart, Seconds{}, "what a change of the plan takes (none)"),
      option("searches", &T::searches, Count{0, 100},
             "at how many lengths plans are searched, from the first to the longest; 0: the plan is kept"),
      group(&T::search));
}

struct ForecastAnswer {
  predict::Scenario scenario;
  std::int64_t steps = 0;           ///< that were asked for
  std::optional<std::int64_t> cap;  ///< where grown responses end
  study::Forecast forecast;
  Outcome outcome = Outcome::done;  ///< infeasible: at some step no plan fits any more
};

/// Errors of the options; of what is read; those of study::forecast.
base::Result<ForecastAnswer> ask(const ForecastRequest& request, const Watch& watch);

/// "A", "B", ...: what plan number `index` is called; "A1" behind "Z".
std::string plan_letter(std::size_t index);

/// What the run costs, its schedule of plans, how lengths grow, and what would be if the first plan were kept.
Sections sections(const ForecastAnswer& answer);
/// A dovetail/forecast@1 object.
std::string to_json(const ForecastAnswer& answer);

}  // namespace dovetail::answer
