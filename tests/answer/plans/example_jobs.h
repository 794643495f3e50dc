// Jobs and plans of examples/jobs as inputs, and options for short searches and imports.
#pragma once

#include <string>

#include "answer/plans/search_options.h"
#include "trainers/import_run.h"

namespace dovetail::answer {

inline Input example(const std::string& file) { return {DOVETAIL_SOURCE_DIR "/examples/jobs/" + file}; }

inline PlanSearchOptions short_search() { return {.budget = {.chains = 2, .iterations = 500, .threads = 2}}; }

/// GPUs and response lengths. Only the configuration itself is read.
inline trainers::ImportOptions example_import_options(const std::string& gpu = "H100",
                                                      const std::string& response_length = "700") {
  trainers::ImportOptions options;
  options.gpu = gpu;
  options.response_length = response_length;
  options.root = "/no/such/folder";
  return options;
}

}  // namespace dovetail::answer
