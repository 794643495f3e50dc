// Runs the built `dovetail` in a separate process and returns its visible results.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace dovetail::cli {

using test::content_of;
using test::TemporaryFolder;

struct ProgramResult {
  int exit_code = -1;  ///< minus the signal where one ended it
  std::string out;
  std::string err;
};

struct RunOptions {
  std::string input = {};                     ///< on standard input
  std::vector<std::string> environment = {};  ///< "NAME=VALUE", added to the environment of the test
  std::optional<std::chrono::milliseconds> interrupt_after = {};  ///< sends SIGINT then
};

/// Runs `dovetail ARGUMENTS...`.
ProgramResult run_program(const std::vector<std::string>& arguments, const RunOptions& options = {});

/// Runs any program found on the PATH.
ProgramResult run_other(const std::vector<std::string>& command, const RunOptions& options = {});

/// Path of a file in the repository.
std::string repository_file(const std::string& path);

/// A small problem: one model of two stages on two devices, two micro-batches.
extern const char* const small_problem;

}  // namespace dovetail::cli
