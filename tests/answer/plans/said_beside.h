// What is said beside a trainer's configuration.
#pragma once

#include <string>

#include "trainers/import_run.h"

namespace dovetail::answer {

/// What GPUs there are, and how long responses are. Nothing but the configuration is read.
inline trainers::ImportOptions said_beside(const std::string& gpu = "H100",
                                           const std::string& response_length = "700") {
  trainers::ImportOptions options;
  options.gpu = gpu;
  options.response_length = response_length;
  options.root = "/no/such/folder";
  return options;
}

}  // namespace dovetail::answer
