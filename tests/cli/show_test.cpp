#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string trace = repository_file("tests/data/flexfusion/trace_exp5.txt");

/// Code points of the longest line.
std::size_t width_of(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t width = 0;
    for (const char letter : line) width += (static_cast<unsigned char>(letter) & 0xC0) == 0x80 ? 0 : 1;
    widest = std::max(widest, width);
  }
  return widest;
}

TEST(Show, FitsEightyColumnsWithoutColorsInAPipe) {
  const ProgramResult result = run_program({"show", trace}, {.environment = {"COLUMNS="}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("makespan 225"));
  EXPECT_THAT(result.out, Not(HasSubstr("\033")));
  EXPECT_LE(width_of(result.out), 80U);
  EXPECT_GT(width_of(result.out), 60U);
}

TEST(Show, TakesItsWidthFromTheEnvironmentOrAnOption) {
  const ProgramResult environment = run_program({"show", trace}, {.environment = {"COLUMNS=120"}});
  EXPECT_LE(width_of(environment.out), 120U);
  EXPECT_GT(width_of(environment.out), 100U);
  const ProgramResult option = run_program({"show", trace, "--columns", "50"}, {.environment = {"COLUMNS=120"}});
  EXPECT_LE(width_of(option.out), 50U);
}

TEST(Show, UsesColorsOnRequest) {
  EXPECT_THAT(run_program({"show", trace, "--color", "always"}, {.environment = {"NO_COLOR=1"}}).out,
              HasSubstr("\033["));
  EXPECT_THAT(run_program({"show", trace, "--color", "never"}).out, Not(HasSubstr("\033")));
  const ProgramResult wrong = run_program({"show", trace, "--color", "sometimes"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.err, "dovetail: --color: must be always, never or auto, got 'sometimes'\nsee dovetail show --help\n");
}

TEST(Show, DrawsTheScheduleOfASolver) {
  const ProgramResult result = run_program({"show", "exp5", "--solver", "greedy"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("exp5 (greedy)"));
}

TEST(Show, DrawsSeveral) {
  const ProgramResult result = run_program({"show", "exp5", "exp2", "--solver", "greedy"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("exp5 (greedy)"));
  EXPECT_THAT(result.out, HasSubstr("\n\nexp2 (greedy)"));
}

TEST(Show, RejectsAProblemWithoutASolver) {
  const ProgramResult result = run_program({"show", "exp5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "dovetail: 'exp5' is a problem, not a schedule; to schedule it, use dovetail show exp5 --solver auto\n");
}

TEST(Show, IsInfeasibleIfNothingFits) {
  const ProgramResult result = run_program({"show", "exp5", "--solver", "greedy", "--memory-cap", "20"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("no schedule found by greedy fits in memory:\n"));
}

}  // namespace
}  // namespace dovetail::cli
