#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

TEST(Bounds, NameTheArgumentThatSetsThem) {
  const ProgramResult result = run_program({"bounds", "exp5"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, ContainsRegex("\nhead \\+ work \\+ tail: [^\n]* 225 [^\n]* sets the bound\n"));
  EXPECT_THAT(result.out, HasSubstr("\nexp5: no schedule is shorter than 225 ticks\npeak activation: at least "));
}

TEST(Bounds, JsonHasEveryArgumentAndDevice) {
  const ProgramResult result = run_program({"bounds", "exp9", "--json"});
  ASSERT_EQ(result.exit_code, 0);
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/bounds@1");
  EXPECT_EQ(object["makespan"], 606);
  std::int64_t largest = 0;
  for (const auto& [name, argument] : object["arguments"].items()) {
    largest = std::max(largest, argument["makespan"].get<std::int64_t>());
    EXPECT_EQ(argument["sets_the_bound"], argument["makespan"] == 606) << name;
  }
  EXPECT_EQ(largest, 606);
  EXPECT_EQ(object["arguments"]["one_machine"]["by_device"].size(), 16U);
}

TEST(Bounds, AreInTheUnitOfTheProblem) {
  std::string problem = small_problem;
  problem.replace(problem.find("time_unit: tick"), 15, "time_unit: ms");
  problem.replace(problem.find("forward: 1"), 10, "forward: 0.5");
  const ProgramResult result = run_program({"bounds", "-", "--json"}, {.input = problem});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["makespan"], 7.5);
  EXPECT_THAT(run_program({"bounds", "-"}, {.input = problem}).out, HasSubstr("no schedule is shorter than 7.5 ms\n"));
}

}  // namespace
}  // namespace dovetail::cli
