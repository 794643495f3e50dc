#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

json row_of(const json& comparison, const std::string& solver) {
  for (const json& row : comparison["rows"]) {
    if (row["solver"] == solver) return row;
  }
  return nullptr;
}

TEST(Compare, CountsSpeedUpsOverSerial1f1b) {
  const ProgramResult result = run_program({"compare", "exp1", "--solver", "1f1b", "--solver", "greedy", "--solver",
                                            "1f1b+", "--solver", "chimera", "--draws", "50", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json comparison = json::parse(result.out);
  EXPECT_EQ(comparison["format"], "dovetail/compare@1");
  EXPECT_EQ(comparison["bounds"]["makespan"], 372);
  EXPECT_EQ(comparison["baseline"], json({{"solver", "1f1b"}, {"makespan", 477}}));
  EXPECT_EQ(comparison["draws"], 50);
  EXPECT_EQ(comparison["objective"], "makespan");
  EXPECT_FALSE(comparison.contains("robust"));
  ASSERT_EQ(comparison["rows"].size(), 3U);
  EXPECT_EQ(row_of(comparison, "1f1b")["makespan"], 477);
  EXPECT_EQ(row_of(comparison, "1f1b")["speed_up"], 1);
  const json greedy = row_of(comparison, "greedy");
  EXPECT_EQ(greedy["makespan"], 425);
  EXPECT_EQ(greedy["peak_activation"], 33.3);
  EXPECT_NEAR(greedy["speed_up"], 477.0 / 425.0, 1e-6);
  EXPECT_NEAR(greedy["gap"], 53.0 / 372.0, 1e-6);
  ASSERT_EQ(greedy["varied"].size(), 2U);
  EXPECT_EQ(greedy["varied"][0]["by"], 0.05);
  EXPECT_EQ(greedy["varied"][1]["by"], 0.1);
  EXPECT_LE(greedy["varied"][1]["median"], greedy["varied"][1]["percentile_95"]);
  EXPECT_TRUE(row_of(comparison, "1f1b+").contains("other_layout"));
  ASSERT_EQ(comparison["not_applicable"].size(), 1U);
  EXPECT_EQ(comparison["not_applicable"][0]["solver"], "chimera");
  EXPECT_TRUE(comparison["timing"]["seconds"]["greedy"].is_number());
}

TEST(Compare, SaysWhatWasAskedFor) {
  const ProgramResult result = run_program({"compare", "exp2", "--solver", "auto", "--iterations", "50", "--draws", "1",
                                            "--objective", "memory", "--robust", "10", "--json"});
  const json comparison = json::parse(result.out);
  EXPECT_EQ(comparison["objective"], "memory");
  EXPECT_EQ(comparison["robust"], 10);
}

TEST(Compare, PrintsATableWithItsRemarks) {
  const ProgramResult result = run_program({"compare", "exp1", "--solver", "greedy", "--solver", "1f1b+", "--solver",
                                            "chimera", "--draws", "20", "--memory-cap", "20"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(ContainsRegex("solver +makespan +gap +speedup +peak +bubbles +.*5% median +95th pct\\."),
                    ContainsRegex("greedy +425 +14.2% +1.12x +33.3 +20.9% .* does not fit \\(by 13.3\\)\n"),
                    ContainsRegex("1f1b\\+ \\* +450 "), HasSubstr("\n* 1f1b+: different layout, "),
                    HasSubstr("\nsolver 'chimera' is not applicable to this problem: "),
                    HasSubstr("\nbounds: makespan 372 ticks, peak activation "),
                    HasSubstr("\nspeedup: relative to 1f1b, 477 ticks\n")));
}

TEST(Compare, RunsTheSolversOfTheRegistryUnasked) {
  const ProgramResult result =
      run_program({"compare", "-", "--draws", "5", "--iterations", "200", "--json"}, {.input = small_problem});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json comparison = json::parse(result.out);
  for (const char* solver : {"gpipe", "1f1b", "greedy", "list", "annealing"})
    EXPECT_FALSE(row_of(comparison, solver).is_null()) << solver;
  for (const json& row : comparison["rows"]) {
    if (!row.contains("other_layout")) {
      EXPECT_GE(row["makespan"], comparison["bounds"]["makespan"]);
    }
  }
}

TEST(Compare, GivesTheSameDrawsAgain) {
  const std::vector<std::string> arguments{"compare", "exp5", "--solver", "greedy", "--draws", "50", "--json"};
  json first = json::parse(run_program(arguments).out);
  json second = json::parse(run_program(arguments).out);
  first.erase("timing");
  second.erase("timing");
  EXPECT_EQ(first, second);
}

TEST(Compare, RefusesAnUnknownSolverAndNoDraws) {
  EXPECT_EQ(run_program({"compare", "exp5", "--solver", "fastest"}).exit_code, 2);
  const ProgramResult result = run_program({"compare", "exp5", "--draws", "0"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "dovetail: --draws: '0' is no whole number from 1 to 1000000\nsee dovetail compare --help\n");
}

TEST(Compare, FailsWhereNoSolverIsApplicable) {
  const ProgramResult result = run_program({"compare", "exp5", "--solver", "zb-v", "--solver", "zb-h1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("dovetail: no solver is applicable:\n  solver 'zb-v' is not applicable"),
                                HasSubstr("\n  solver 'zb-h1' is not applicable")));
  EXPECT_EQ(result.out, "");
}

TEST(Compare, RunsASolverOnceAndNotBesideAll) {
  const ProgramResult twice =
      run_program({"compare", "exp5", "--solver", "greedy", "--solver", "greedy", "--draws", "5", "--json"});
  EXPECT_EQ(json::parse(twice.out)["rows"].size(), 1U);
  EXPECT_EQ(run_program({"compare", "exp5", "--solver", "greedy", "--all"}).exit_code, 2);
}

TEST(Compare, RoundsVariedMakespansForPeople) {
  std::string problem = small_problem;
  problem.replace(problem.find("time_unit: tick"), 15, "time_unit: ms");
  const ProgramResult result = run_program({"compare", "-", "--solver", "1f1b", "--draws", "20"}, {.input = problem});
  EXPECT_THAT(result.out, testing::Not(ContainsRegex("[0-9][.][0-9][0-9][0-9][0-9]")));
  EXPECT_THAT(result.out, ContainsRegex("[0-9][.][0-9][0-9][0-9] "));
}

}  // namespace
}  // namespace dovetail::cli
