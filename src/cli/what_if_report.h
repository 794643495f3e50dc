// What `dovetail what-if` says.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output.h"
#include "place/study/worth.h"

namespace dovetail::cli {

/// A plan in other ways of working, and whether its fusions are worth it.
struct WhatIfAnswer {
  const place::Ground& ground;
  const plan::Plan& plan;
  std::uint64_t seed = 1;
  int draws = 1;
  place::WhatIfs what_ifs;
  place::TrainingWorth training;
  place::GenerationWorth generation;
};

std::string to_text(const WhatIfAnswer& answer);
/// dovetail/what-if@1.
Json to_json(const WhatIfAnswer& answer);

}  // namespace dovetail::cli
