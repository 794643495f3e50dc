// What `dovetail what-if` says.
#pragma once

#include <cstdint>
#include <string>

#include "answer/question/json.h"
#include "cli/output.h"
#include "study/worth.h"

namespace dovetail::cli {

/// A plan in other ways of working, and whether its fusions are worth it.
struct WhatIfAnswer {
  const predict::Scenario& scenario;
  const plan::Plan& plan;
  std::uint64_t seed = 1;
  int draws = 1;
  study::WhatIfs what_ifs;
  study::TrainingWorth training;
  study::GenerationWorth generation;
};

std::string to_text(const WhatIfAnswer& answer);
/// dovetail/what-if@1.
answer::Json to_json(const WhatIfAnswer& answer);

}  // namespace dovetail::cli
