// A forecast of a run in words and as JSON.
#pragma once

#include <string>

#include "answer/question/json.h"
#include "cli/output.h"
#include "study/forecast.h"

namespace dovetail::cli {

struct ForecastRun {
  const predict::Scenario& scenario;
  std::int64_t steps = 0;           ///< that were asked for
  std::optional<std::int64_t> cap;  ///< where grown responses end
  study::Forecast forecast;
};

/// "A", "B", ...: what plan number `index` is called; "A1" behind "Z".
std::string plan_letter(std::size_t index);
/// What the run costs, its schedule of plans, how lengths grow, and what would be if the first plan were kept.
std::string to_text(const ForecastRun& run);
/// A dovetail/forecast@1 object.
answer::Json to_json(const ForecastRun& run);

}  // namespace dovetail::cli
