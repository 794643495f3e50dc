#include "pipeline/schedule/schedule_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::pipeline {
namespace {

using testing::HasSubstr;

/// Returns a schedule that repeatedly picks one of the ready ops at random.
Schedule random_schedule(const Problem& problem, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const OpGraph graph = lower(problem, random() % 2 == 0 ? BackwardForm::split : BackwardForm::whole).graph;
  std::vector<std::int32_t> waits(graph.size());
  std::vector<OpId> ready;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    waits[op] = static_cast<std::int32_t>(graph.predecessors(OpId(op)).size());
    if (waits[op] == 0) ready.push_back(OpId(op));
  }
  Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const OpId op = ready.back();
    ready.pop_back();
    order.devices[graph.device[op.index()].index()].push_back(op);
    for (const Arc& arc : graph.successors(op))
      if (--waits[arc.op.index()] == 0) ready.push_back(arc.op);
  }
  return to_schedule(problem, graph, evaluate(graph, order).value());
}

Problem two_models() {
  return test::problem_of(2,
                          {test::chain_model("actor", {0, 1}, 3, 1, 2), test::chain_model("critic", {1, 0}, 2, 1, 1)});
}

std::int64_t total_moved(const ScheduleDifference& difference) {
  std::int64_t moved = 0;
  for (const DeviceDifference& device : difference.devices) moved += device.moved;
  return moved;
}

TEST(FindDifference, DescribesTheDifference) {
  const Problem a = two_models();
  const auto changed = [&](auto change) {
    Problem b = a;
    change(b);
    return find_difference(a, b, "a.json", "exp1").value_or("the same");
  };
  EXPECT_EQ(changed([](Problem&) {}), "the same");
  EXPECT_EQ(changed([](Problem& b) { b.devices = 3; }), "the number of devices is 2 in a.json and 3 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models.pop_back(); }), "the number of models is 2 in a.json and 1 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.time_unit = TimeUnit::ms; }), "the time_unit is tick in a.json and ms in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[1].microbatches = 5; }),
            "the number of micro-batches of model critic is 2 in a.json and 5 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[1].minibatches = 2; }),
            "the number of mini-batches of model critic is 1 in a.json and 2 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[0].replicas.push_back(b.models[0].replicas[0]); }),
            "the number of replicas of model actor is 1 in a.json and 2 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[0] = test::chain_model("actor", {0}, 3, 1, 2); }),
            "the number of stages of model actor is 2 in a.json and 1 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[0].weight_gradient = {Ticks(1), Ticks(1)}; }),
            "the backward of model actor is whole in a.json and split in exp1");
  EXPECT_EQ(changed([](Problem& b) { std::swap(b.models[1].replicas[0][0], b.models[1].replicas[0][1]); }),
            "the device of stage 0 of replica 0 of model critic is 1 in a.json and 0 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[1].backward[1] = Ticks(7); }),
            "backward of stage 1 of model critic is 1 in a.json and 7 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[0].activation[1] = Memory(1'500'000); }),
            "activation of stage 1 of model actor is 1 in a.json and 1.5 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[0].transfer_backward[0] = Ticks(2); }),
            "backward transfer of boundary 0 of model actor is 0 in a.json and 2 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[0].step[0] = Ticks(2); }),
            "step of stage 0 of model actor is 0 in a.json and 2 in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[0].step_after = StepAfter::model; }),
            "step_after of model actor is stage in a.json and model in exp1");
  EXPECT_EQ(changed([](Problem& b) { b.models[1].step_before = StepBefore::replicas; }),
            "step_before of model critic is own in a.json and replicas in exp1");
}

TEST(FindDifference, NamesAndMemoryMayDiffer) {
  const Problem a = two_models();
  Problem b = a;
  b.models[0].name = "policy";
  b.capacity = std::vector<Memory>(2, Memory(1));
  b.resident[0] = Memory(5);
  EXPECT_EQ(find_difference(a, b, "a", "b"), std::nullopt);
}

RC_GTEST_PROP(FindDifference, IsEmptyOnlyForProblemsWithTheSameSchedules, ()) {
  const Problem a = *test::problems();
  const Problem b = *rc::gen::oneOf(test::problems(), rc::gen::just(a));
  if (find_difference(a, b, "a", "b")) {
    RC_ASSERT(!(a == b));
    return;
  }
  Schedule schedule = random_schedule(a, 1);
  schedule.problem = b;
  schedule.problem.capacity.reset();
  RC_ASSERT(!validate(schedule).has_value());
}

RC_GTEST_PROP(DiffSchedules, AScheduleEqualsItself, ()) {
  const Schedule a = random_schedule(*test::problems(), *rc::gen::arbitrary<std::uint64_t>());
  const ScheduleDifference difference = diff_schedules(a, a, 10);
  RC_ASSERT(!difference.divergence.has_value());
  RC_ASSERT(difference.same_order);
  RC_ASSERT(difference.moves.empty());
  RC_ASSERT(total_moved(difference) == 0);
}

TEST(DiffSchedules, NumbersOfMicrobatchesDoNotCount) {
  const Schedule a = random_schedule(two_models(), 3);
  Schedule b = a;
  for (auto& device : b.devices)
    for (ScheduledOp& op : device)
      if (op.label.model == ModelId(0)) op.label.microbatch = MicrobatchId(2 - op.label.microbatch.value);
  EXPECT_FALSE(diff_schedules(a, b, 10).divergence.has_value());
}

TEST(DiffSchedules, FindsMovesAndTheFirstDifference) {
  // One device and two models of one stage: F F B B of the first, then F B of the second; or the second in between.
  const Problem problem =
      test::problem_of(1, {test::chain_model("a", {0}, 2, 1, 2), test::chain_model("b", {0}, 1, 1, 1)});
  const OpGraph graph = lower(problem, BackwardForm::whole).graph;
  const auto op = [&](OpKind kind, int model, int microbatch) {
    const OpLabel label{kind, ModelId(model), ReplicaId(0), StageId(0), MicrobatchId(microbatch)};
    return OpId(
        static_cast<std::size_t>(std::find(graph.labels.begin(), graph.labels.end(), label) - graph.labels.begin()));
  };
  const auto schedule_of = [&](std::vector<OpId> order) {
    return to_schedule(problem, graph, evaluate(graph, Order{{std::move(order)}, {}}).value());
  };
  const Schedule a = schedule_of({op(OpKind::F, 0, 0), op(OpKind::F, 0, 1), op(OpKind::B, 0, 0), op(OpKind::B, 0, 1),
                                  op(OpKind::F, 1, 0), op(OpKind::B, 1, 0)});
  const Schedule b = schedule_of({op(OpKind::F, 0, 0), op(OpKind::F, 1, 0), op(OpKind::F, 0, 1), op(OpKind::B, 0, 0),
                                  op(OpKind::B, 0, 1), op(OpKind::B, 1, 0)});
  const ScheduleDifference difference = diff_schedules(a, b, 10);
  EXPECT_FALSE(difference.same_order);
  EXPECT_EQ(difference.devices[0].matched, 6);
  EXPECT_EQ(difference.devices[0].moved, 1);
  ASSERT_EQ(difference.moves.size(), 1U);
  EXPECT_EQ(describe(problem, difference.moves[0].a.op), "F0 of b stage 0");
  EXPECT_EQ(difference.moves[0].a.position, 4U);
  EXPECT_EQ(difference.moves[0].b.position, 1U);
  EXPECT_EQ(difference.moves[0].a.start, Ticks(6));
  EXPECT_EQ(difference.moves[0].b.start, Ticks(1));
  ASSERT_TRUE(difference.divergence.has_value());
  EXPECT_EQ(difference.divergence->a->op.model, ModelId(0));
  EXPECT_EQ(difference.divergence->b->op.model, ModelId(1));
  EXPECT_EQ(difference.divergence->a->start, Ticks(1));
}

TEST(DiffSchedules, TheSameOrderAtOtherTimes) {
  const Schedule a = random_schedule(two_models(), 5);
  Schedule b = a;
  for (auto& device : b.devices)
    for (ScheduledOp& op : device) op.start += Ticks(2), op.end += Ticks(2);
  const ScheduleDifference difference = diff_schedules(a, b, 10);
  EXPECT_TRUE(difference.same_order);
  EXPECT_TRUE(difference.divergence.has_value());
  EXPECT_EQ(total_moved(difference), 0);
}

TEST(DiffSchedules, CountsBackwardsInAnotherForm) {
  Problem problem = test::problem_of(1, {test::chain_model("a", {0}, 2, 1, 2)});
  problem.models[0].weight_gradient = {Ticks(1)};
  problem.models[0].weight_activation = problem.models[0].activation;
  ASSERT_EQ(find_fault(problem), std::nullopt);
  const auto with_form = [&](BackwardForm form) {
    const OpGraph graph = lower(problem, form).graph;
    Order order{{topological_order(graph)}, {}};
    return to_schedule(problem, graph, evaluate(graph, order).value());
  };
  const ScheduleDifference difference =
      diff_schedules(with_form(BackwardForm::whole), with_form(BackwardForm::split), 10);
  EXPECT_EQ(difference.devices[0].matched, 2);
  EXPECT_EQ(difference.devices[0].only_in_a, 2);
  EXPECT_EQ(difference.devices[0].only_in_b, 4);
  EXPECT_FALSE(difference.same_order);
}

/// Oracle: computes the longest common order with a quadratic program, matching ops by kind, stage and rank in time.
std::int64_t max_common_order(const std::vector<ScheduledOp>& a, const std::vector<ScheduledOp>& b) {
  const auto keys = [](std::vector<ScheduledOp> rows) {
    std::sort(rows.begin(), rows.end(), [](const ScheduledOp& x, const ScheduledOp& y) {
      return std::tie(x.start, x.end, x.label) < std::tie(y.start, y.end, y.label);
    });
    std::vector<OpLabel> labels;
    for (const ScheduledOp& row : rows) {
      OpLabel label = row.label;
      label.microbatch = MicrobatchId(0);
      while (std::find(labels.begin(), labels.end(), label) != labels.end()) ++label.microbatch.value;
      labels.push_back(label);
    }
    return labels;
  };
  const std::vector<OpLabel> x = keys(a);
  const std::vector<OpLabel> y = keys(b);
  std::vector<std::vector<std::int64_t>> longest(x.size() + 1, std::vector<std::int64_t>(y.size() + 1));
  for (std::size_t i = 1; i <= x.size(); ++i)
    for (std::size_t j = 1; j <= y.size(); ++j)
      longest[i][j] = x[i - 1] == y[j - 1] ? longest[i - 1][j - 1] + 1 : std::max(longest[i - 1][j], longest[i][j - 1]);
  return longest[x.size()][y.size()];
}

RC_GTEST_PROP(DiffSchedules, CountsOpsOutsideTheLongestCommonOrder, ()) {
  const Problem problem = *test::problems();
  const Schedule a = random_schedule(problem, *rc::gen::arbitrary<std::uint64_t>());
  const Schedule b = random_schedule(problem, *rc::gen::arbitrary<std::uint64_t>());
  const ScheduleDifference there = diff_schedules(a, b, 1'000'000);
  const ScheduleDifference back = diff_schedules(b, a, 3);
  RC_ASSERT(static_cast<std::int64_t>(there.moves.size()) == total_moved(there));
  RC_ASSERT(back.moves.size() <= 3U);
  for (std::size_t device = 0; device < a.devices.size(); ++device) {
    const DeviceDifference& difference = there.devices[device];
    RC_ASSERT(difference.matched - difference.moved == max_common_order(a.devices[device], b.devices[device]));
    RC_ASSERT(difference.moved == back.devices[device].moved);
    RC_ASSERT(difference.matched + difference.only_in_a == static_cast<std::int64_t>(a.devices[device].size()));
    RC_ASSERT(difference.matched + difference.only_in_b == static_cast<std::int64_t>(b.devices[device].size()));
  }
  for (std::size_t i = 1; i < there.moves.size(); ++i) {
    const auto shift = [](const Move& move) { return std::abs((move.b.start - move.a.start).count()); };
    RC_ASSERT(shift(there.moves[i - 1]) >= shift(there.moves[i]));
  }
}

}  // namespace
}  // namespace dovetail::pipeline
