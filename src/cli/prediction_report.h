// A prediction of a plan in words and as JSON.
#pragma once

#include <string>

#include "answer/question/json.h"
#include "cli/job.h"
#include "cli/output.h"

namespace dovetail::cli {

/// A table of the steps, and what an iteration takes and costs.
std::string to_text(const Prediction& prediction);
/// A dovetail/estimate@1 object.
answer::Json to_json(const Prediction& prediction);

}  // namespace dovetail::cli
