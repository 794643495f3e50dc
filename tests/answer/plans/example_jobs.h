// The jobs and plans of examples/jobs as inputs of questions, and short searches.
#pragma once

#include <string>

#include "answer/plans/search_options.h"

namespace dovetail::answer {

inline Input example(const std::string& file) { return {DOVETAIL_SOURCE_DIR "/examples/jobs/" + file}; }

inline PlanSearchOptions short_search() { return {.budget = {.chains = 2, .iterations = 500, .threads = 2}}; }

}  // namespace dovetail::answer
