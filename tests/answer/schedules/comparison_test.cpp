#include "answer/schedules/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dovetail::answer {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ComparisonRequest compared(std::vector<std::string> solvers) {
  ComparisonRequest request{.problem = {"exp2"}, .solvers = std::move(solvers)};
  request.draws = 10;
  request.search.budget.threads = 1;
  return request;
}

TEST(AskComparison, RunsEachSolverOnceInOrder) {
  const auto answer = ask(compared({"list", "greedy", "list", "zb-v"}), {});
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->rows.size(), 2U);
  EXPECT_EQ(answer->rows[0].solver, "list");
  EXPECT_EQ(answer->rows[1].solver, "greedy");
  ASSERT_EQ(answer->refusals.size(), 1U);
  EXPECT_THAT(answer->refusals[0].why, HasSubstr("solver 'zb-v' is not applicable to this problem"));
  EXPECT_TRUE(answer->complete);
  EXPECT_EQ(json::parse(to_json(*answer))["rows"].size(), 2U);
}

TEST(AskComparison, RunsTheBaselineForSpeedups) {
  const auto alone = ask(compared({"list"}), {});
  const auto beside = ask(compared({"list", "1f1b"}), {});
  ASSERT_TRUE(alone.ok() && beside.ok());
  EXPECT_EQ(alone->baseline_name, "1f1b");
  EXPECT_EQ(alone->baseline, beside->baseline);
  EXPECT_EQ(beside->speed_up(beside->rows[1]), 1.0);
  const double expected = static_cast<double>(alone->baseline->count()) /
                          static_cast<double>(alone->rows[0].solved.solution.evaluation.makespan.count());
  EXPECT_DOUBLE_EQ(*alone->speed_up(alone->rows[0]), expected);
}

TEST(AskComparison, ReportsThatNoSolverIsApplicable) {
  EXPECT_THAT(ask(compared({"zb-v", "zb-h1"}), {}).error().message,
              HasSubstr("no solver is applicable:\n  solver 'zb-v' is "));
  EXPECT_THAT(ask(compared({"gredy"}), {}).error().message,
              HasSubstr("there is no solver 'gredy'; did you mean 'greedy'?"));
}

TEST(AskComparison, KeepsCompletedRowsWhenStopped) {
  parallel::Cancellation stop;
  stop.request();
  Watch watch;
  watch.cancellation = &stop;
  const auto answer = ask(compared({"list", "greedy"}), watch);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->outcome, Outcome::interrupted);
  EXPECT_FALSE(answer->complete);
  EXPECT_TRUE(answer->rows.empty());
  EXPECT_EQ(json::parse(to_json(*answer))["interrupted"], true);
}

}  // namespace
}  // namespace dovetail::answer
