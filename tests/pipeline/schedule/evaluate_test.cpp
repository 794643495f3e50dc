#include "pipeline/schedule/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/schedule/validate.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"

namespace dovetail::pipeline {
namespace {

/// Two stages, two micro-batches, forward 2, backward 3, in the order of 1F1B.
struct TwoStages {
  Problem problem = test::problem_of(2, {test::chain_model("actor", {0, 1}, 2, 2, 3)});
  Lowering lowering = lower(problem, BackwardForm::whole);

  OpId op(char kind, int stage, int microbatch) const {
    const MicrobatchOps& ops = lowering.ops(PipelineId(0), StageId(stage), MicrobatchId(microbatch));
    return kind == 'F' ? ops.forward : ops.backward;
  }
  Order order() const {
    return {{{op('F', 0, 0), op('F', 0, 1), op('B', 0, 0), op('B', 0, 1)},
             {op('F', 1, 0), op('B', 1, 0), op('F', 1, 1), op('B', 1, 1)}},
            {}};
  }
};

TEST(Evaluate, EarliestStartsOfAnOrder) {
  const TwoStages two;
  const auto evaluation = evaluate(two.lowering.graph, two.order());
  ASSERT_TRUE(evaluation.ok());
  // device 0: F0 [0,2] F1 [2,4] B0 [7,10] B1 [12,15]; device 1: F0 [2,4] B0 [4,7] F1 [7,9] B1 [9,12]
  EXPECT_EQ(evaluation->start[two.op('B', 0, 0).index()], Ticks(7));
  EXPECT_EQ(evaluation->start[two.op('B', 0, 1).index()], Ticks(12));
  EXPECT_EQ(evaluation->makespan, Ticks(15));
  EXPECT_EQ(evaluation->peak_activation, Memory(2'000'000));
  EXPECT_EQ(evaluation->devices[1].peak, Memory(1'000'000));
  EXPECT_EQ(evaluation->devices[0].busy, Ticks(10));
  EXPECT_EQ(evaluation->devices[1].first_start, Ticks(2));
  EXPECT_EQ(evaluation->devices[1].last_end, Ticks(12));
  EXPECT_EQ(max_device_span(*evaluation), Ticks(15));
  EXPECT_DOUBLE_EQ(bubble_rate(*evaluation), 1 - 20.0 / 30.0);
}

TEST(Evaluate, BarriersDelayOps) {
  const TwoStages two;
  Order order = two.order();
  order.barriers.push_back({two.op('B', 1, 0), two.op('F', 0, 1), Ticks(4)});
  const auto evaluation = evaluate(two.lowering.graph, order);
  ASSERT_TRUE(evaluation.ok());
  EXPECT_EQ(evaluation->start[two.op('F', 0, 1).index()], Ticks(11));
}

TEST(Evaluate, ADeadlockIsAnError) {
  const TwoStages two;
  Order order = two.order();
  std::swap(order.devices[1][0], order.devices[1][1]);  // B0 before its own F0
  const auto evaluation = evaluate(two.lowering.graph, order);
  ASSERT_FALSE(evaluation.ok());
  EXPECT_EQ(evaluation.error().failure, base::Failure::invalid);
  EXPECT_THAT(evaluation.error().message, testing::HasSubstr("the order deadlocks: B0 of stage 0"));
}

TEST(Evaluate, GivenStartsAreNotChanged) {
  const TwoStages two;
  auto start = evaluate(two.lowering.graph, two.order())->start;
  start[two.op('B', 0, 1).index()] = Ticks(20);
  EXPECT_EQ(evaluate(two.lowering.graph, start).makespan, Ticks(23));
}

TEST(Evaluate, AScheduleRoundTripsThroughItsRows) {
  const TwoStages two;
  const auto evaluation = evaluate(two.lowering.graph, two.order());
  const Schedule schedule = to_schedule(two.problem, two.lowering.graph, *evaluation);
  EXPECT_EQ(schedule.claims.makespan, Ticks(15));
  const LoweredSchedule again = evaluate(schedule);
  EXPECT_EQ(again.evaluation.start, evaluation->start);
  EXPECT_EQ(again.order.devices, two.order().devices);
}

TEST(Evaluate, WholeAndSplitBackwardsMixInOneSchedule) {
  Model model = test::chain_model("actor", {0}, 2, 1, 1);
  model.weight_gradient = {Ticks(1)};
  model.weight_activation = {Memory(400'000)};
  Schedule schedule;
  schedule.problem = test::problem_of(1, {model});
  const auto row = [](OpKind kind, int microbatch, int start, int end) {
    return ScheduledOp{
        {kind, ModelId(0), ReplicaId(0), StageId(0), MicrobatchId(microbatch)}, Ticks(start), Ticks(end)};
  };
  schedule.devices = {{row(OpKind::F, 0, 0, 1), row(OpKind::I, 0, 1, 2), row(OpKind::F, 1, 2, 3),
                       row(OpKind::B, 1, 3, 5), row(OpKind::W, 0, 5, 6)}};
  const LoweredSchedule lowered = evaluate(schedule);
  EXPECT_EQ(lowered.evaluation.makespan, Ticks(6));
  EXPECT_EQ(lowered.evaluation.peak_activation, Memory(1'400'000));
}

TEST(Evaluate, CapacityCountsWhatIsResident) {
  TwoStages two;
  two.problem.resident = {Memory(500'000), Memory(0)};
  const auto evaluation = evaluate(two.lowering.graph, two.order());
  EXPECT_TRUE(find_excess(two.problem, *evaluation, std::nullopt).empty());
  EXPECT_TRUE(find_excess(two.problem, *evaluation, Memory(2'500'000)).empty());
  const auto excess = find_excess(two.problem, *evaluation, Memory(2'000'000));
  ASSERT_EQ(excess.size(), 1u);
  EXPECT_EQ(excess[0].device, DeviceId(0));
  EXPECT_EQ(excess[0].peak, Memory(2'500'000));
  two.problem.capacity = {Memory(9'000'000), Memory(900'000)};
  EXPECT_EQ(find_excess(two.problem, *evaluation, Memory(9'000'000)).size(), 1u);
}

/// Returns the labels of each device, in order.
std::vector<std::vector<OpLabel>> order_of(const Schedule& schedule) {
  std::vector<std::vector<OpLabel>> order;
  for (const auto& device : schedule.devices) {
    auto& labels = order.emplace_back();
    for (const ScheduledOp& op : device) labels.push_back(op.label);
  }
  return order;
}

/// Returns `problem` with other times.
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
    // Back to its own times it takes no longer than before: each op is as early as the order allows.
    const auto back = retimed(*moved, problem);
    ASSERT_TRUE(back.ok());
    EXPECT_LE(*back->claims.makespan, evaluate(given).evaluation.makespan);
    EXPECT_EQ(order_of(*back), order_of(given));
  }
}

TEST(Retimed, RejectsInvalidTimes) {
  const Problem problem = test::random_problem(1);
  Problem wrong = problem;
  wrong.models[0].forward[0] = Ticks(0);
  const auto rejected = retimed(test::random_schedule(problem, 1), wrong);
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().failure, base::Failure::bad_input);
}

}  // namespace

}  // namespace dovetail::pipeline
