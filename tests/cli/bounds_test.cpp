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
  const ProgramResult result = run_program({"bounds", "exp9", "--work", "1", "--json"});
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

TEST(Bounds, BoundThePeakAtADeadline) {
  const ProgramResult late = run_program({"bounds", "exp2", "--deadline", "400", "--json"});
  ASSERT_EQ(late.exit_code, 0) << late.err;
  const json object = json::parse(late.out);
  EXPECT_EQ(object["deadline"], 400);
  EXPECT_LT(object["peak_activation_at_deadline"], object["peak_activation_at_makespan"]);
  EXPECT_GE(object["peak_activation_at_deadline"], object["peak_activation"]);
  const ProgramResult early = run_program({"bounds", "exp2", "--deadline", "224"});
  EXPECT_EQ(early.exit_code, 0);
  EXPECT_THAT(early.out, HasSubstr("no schedule ends by 224 ticks\n"));
  EXPECT_TRUE(
      json::parse(run_program({"bounds", "exp2", "--deadline", "224", "--json"}).out)["peak_activation_at_deadline"]
          .is_null());
}

TEST(Bounds, BoundTheMakespanWithinACapacity) {
  const ProgramResult capped = run_program({"bounds", "-", "--memory-cap", "1.5", "--json"}, {.input = small_problem});
  ASSERT_EQ(capped.exit_code, 0) << capped.err;
  const json object = json::parse(capped.out);
  EXPECT_TRUE(object["fits"]);
  EXPECT_GT(object["makespan"], object["arguments"]["one_machine"]["makespan"]);
  EXPECT_TRUE(object["arguments"]["sequences"]["sets_the_bound"]);
  const ProgramResult impossible = run_program({"bounds", "-", "--memory-cap", "0.5"}, {.input = small_problem});
  EXPECT_EQ(impossible.exit_code, 0);
  EXPECT_THAT(impossible.out, HasSubstr("no schedule fits: device 0 holds at least 1.5, but its capacity is 0.5\n"));
}

TEST(Bounds, RejectInvalidAmounts) {
  const ProgramResult deadline = run_program({"bounds", "exp2", "--deadline", "0.5"});
  EXPECT_EQ(deadline.exit_code, 2);
  EXPECT_THAT(deadline.err, HasSubstr("--deadline: '0.5' "));
  const ProgramResult cap = run_program({"bounds", "exp2", "--memory-cap", "much"});
  EXPECT_EQ(cap.exit_code, 2);
  EXPECT_THAT(cap.err, HasSubstr("--memory-cap: 'much' is not a number"));
}

TEST(Bounds, MoreWorkProvesMore) {
  const auto peak = [](const char* work) {
    return json::parse(run_program({"bounds", "exp4", "--work", work, "--json"}).out)["peak_activation_at_makespan"]
        .get<double>();
  };
  EXPECT_EQ(peak("0"), 13.65);
  EXPECT_EQ(peak("1"), 15.6);
}

}  // namespace
}  // namespace dovetail::cli
