// Evaluates for a plan whether stage fusion is worthwhile, and what alternatives such as off-policy training would
// gain.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "answer/plans/search_options.h"
#include "answer/question/section.h"
#include "study/worth.h"

namespace dovetail::answer {

struct WhatIfRequest {
  JobInput job;
  std::optional<Input> plan = std::nullopt;
  int draws = 3;
  PlanSearchOptions search = {};
};
template <std::same_as<WhatIfRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      option("plan", &T::plan, File{}, "plan to compare with (default: the configuration's, else best found)"),
      option("draws", &T::draws, Count{1, 1000}, "random draws of sample lengths to simulate (default {})"),
      group(&T::search));
}

/// Alternatives to a plan, and the gains of its fusions.
struct WhatIfAnswer {
  predict::Scenario scenario;
  plan::Plan plan;
  std::uint64_t seed = 1;
  int draws = 1;
  study::WhatIfs what_ifs;
  study::TrainingWorth training;
  study::GenerationWorth generation;
  Outcome outcome = Outcome::done;
};

/// Errors: input that cannot be read, a job that is too large to simulate, and a search that finds no plan that fits.
base::Result<WhatIfAnswer> answer_to(const WhatIfRequest& request, const Callbacks& callbacks);

/// Verdict on each fusion with its reason, then a row per alternative.
Sections sections(const WhatIfAnswer& answer);
/// A dovetail/what-if@1 object.
std::string to_json(const WhatIfAnswer& answer);

}  // namespace dovetail::answer
