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

TEST(AnswerComparison, RunsEachSolverOnceInOrder) {
  const auto answer = answer_to(compared({"list", "greedy", "list", "zb-v"}), {});
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->rows.size(), 2U);
  EXPECT_EQ(answer->rows[0].solver, "list");
  EXPECT_EQ(answer->rows[1].solver, "greedy");
  ASSERT_EQ(answer->inapplicable.size(), 1U);
  EXPECT_THAT(answer->inapplicable[0].why, HasSubstr("solver 'zb-v' is not applicable to this problem"));
  EXPECT_TRUE(answer->complete);
  EXPECT_EQ(json::parse(to_json(*answer))["rows"].size(), 2U);
}

TEST(AnswerComparison, RunsTheBaselineForSpeedups) {
  const auto alone = answer_to(compared({"list"}), {});
  const auto with_baseline = answer_to(compared({"list", "1f1b"}), {});
  ASSERT_TRUE(alone.ok() && with_baseline.ok());
  EXPECT_EQ(alone->baseline_name, "1f1b");
  EXPECT_EQ(alone->baseline, with_baseline->baseline);
  EXPECT_EQ(with_baseline->speed_up(with_baseline->rows[1]), 1.0);
  const double expected = static_cast<double>(alone->baseline->count()) /
                          static_cast<double>(alone->rows[0].solved.solution.evaluation.makespan.count());
  EXPECT_DOUBLE_EQ(*alone->speed_up(alone->rows[0]), expected);
}

TEST(AnswerComparison, ReportsThatNoSolverIsApplicable) {
  EXPECT_THAT(answer_to(compared({"zb-v", "zb-h1"}), {}).error().message,
              HasSubstr("no solver is applicable:\n  solver 'zb-v' is "));
  EXPECT_THAT(answer_to(compared({"gredy"}), {}).error().message,
              HasSubstr("there is no solver 'gredy'; did you mean 'greedy'?"));
}

TEST(AnswerComparison, KeepsCompletedRowsWhenStopped) {
  parallel::Cancellation stop;
  stop.request();
  Callbacks callbacks;
  callbacks.cancellation = &stop;
  const auto answer = answer_to(compared({"list", "greedy"}), callbacks);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->outcome, Outcome::interrupted);
  EXPECT_FALSE(answer->complete);
  EXPECT_TRUE(answer->rows.empty());
  EXPECT_EQ(json::parse(to_json(*answer))["interrupted"], true);
}

}  // namespace
}  // namespace dovetail::answer
