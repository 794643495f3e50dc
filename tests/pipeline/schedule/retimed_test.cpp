#include "pipeline/schedule/retimed.h"

#include <gtest/gtest.h>

#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"

namespace dovetail::pipeline {
namespace {

/// The labels of each device, in their order.
std::vector<std::vector<OpLabel>> order_of(const Schedule& schedule) {
  std::vector<std::vector<OpLabel>> order;
  for (const auto& device : schedule.devices) {
    auto& labels = order.emplace_back();
    for (const ScheduledOp& op : device) labels.push_back(op.label);
  }
  return order;
}

/// `problem` with other times of ops.
Problem with_times(Problem problem, std::uint64_t seed) {
  std::int64_t next = static_cast<std::int64_t>(seed);
  for (Model& model : problem.models)
    for_each_duration(model, [&](std::vector<Ticks>& times, const OpTraits&) {
      for (Ticks& time : times)
        if (time > Ticks()) time = Ticks(1 + (next = (next * 31 + 7) % 11));
    });
  return problem;
}

TEST(Retimed, KeepsTheOrderAndIsValidForOtherTimes) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = test::random_problem(seed);
    const Schedule given = test::random_schedule(problem, seed);
    const Problem other = with_times(problem, seed);
    const auto moved = retimed(given, other);
    ASSERT_TRUE(moved.ok()) << moved.error().message;
    EXPECT_FALSE(validate(*moved));
    EXPECT_EQ(moved->problem, other);
    EXPECT_EQ(order_of(*moved), order_of(given));
    // Back in its own times it takes no longer than it did: each op is as early as the order allows.
    const auto back = retimed(*moved, problem);
    ASSERT_TRUE(back.ok());
    EXPECT_LE(*back->claims.makespan, evaluate(given).evaluation.makespan);
    EXPECT_EQ(order_of(*back), order_of(given));
  }
}

TEST(Retimed, RefusesTimesThatAreNone) {
  const Problem problem = test::random_problem(1);
  Problem wrong = problem;
  wrong.models[0].forward[0] = Ticks(0);
  const auto refused = retimed(test::random_schedule(problem, 1), wrong);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().failure, base::Failure::bad_input);
}

}  // namespace
}  // namespace dovetail::pipeline
