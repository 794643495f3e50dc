// A measured run in words and as JSON, by itself or beside what is predicted.
#pragma once

#include <optional>
#include <string>

#include "answer/question/json.h"
#include "cli/output.h"
#include "measure/measured_comparison.h"

namespace dovetail::cli {

struct MeasuredAnswer {
  measure::MeasuredRun run;
  std::optional<measure::MeasuredComparison> comparison;
  std::string efficiency = {};  ///< the name of what it was predicted with
};

/// The steps that count and those that do not, a table of the times with their quartiles, what differs most and why it may, and keys of
/// times that nothing is known of.
std::string to_text(const MeasuredAnswer& answer);
/// A dovetail/measured@1 object.
answer::Json to_json(const MeasuredAnswer& answer);

}  // namespace dovetail::cli
