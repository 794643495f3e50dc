// Fixture for commands that read schedules.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cli/run_program.h"

namespace dovetail::cli {

class WithScheduleFiles : public testing::Test {
 protected:
  /// Writes the solver's schedule of a problem to a file in the folder and returns its path.
  std::string schedule(const std::string& problem, const std::string& solver, const std::string& name) {
    const std::string path = folder.file(name);
    EXPECT_EQ(run_program({"schedule", problem, "--solver", solver, "-o", path}).exit_code, 0);
    return path;
  }

  TemporaryFolder folder;
};

}  // namespace dovetail::cli
