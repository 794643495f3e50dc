// Is stage fusion worth it for a plan, and what would other ways of working give.
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
      option("plan", &T::plan, File{},
             "compare with this plan, a dovetail/plan@1 file, in place of the best that is found"),
      option("draws", &T::draws, Count{1, 1000}, "how often the lengths of all samples are drawn and played"),
      group(&T::search));
}

/// A plan in other ways of working, and whether its fusions are worth it.
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

/// Errors of what is read; of a job that is too large to be played; where no plan fits and none is given.
base::Result<WhatIfAnswer> ask(const WhatIfRequest& request, const Watch& watch);

/// Whether each fusion is worth it, and why; then a row for each way of working.
Sections sections(const WhatIfAnswer& answer);
/// A dovetail/what-if@1 object.
std::string to_json(const WhatIfAnswer& answer);

}  // namespace dovetail::answer
