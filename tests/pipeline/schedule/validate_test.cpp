#include "pipeline/schedule/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/schedule/evaluate.h"
#include "support/problem_maker.h"

namespace dovetail::pipeline {
namespace {

using testing::HasSubstr;

/// A valid schedule with transfers, split backward and steps: two stages on two devices, two mini-batches of one
/// micro-batch.
Schedule valid_schedule() {
  Model model = test::chain_model("actor", {0, 1}, 1, 2, 3);
  model.minibatches = 2;
  model.weight_gradient = {Ticks(1), Ticks(1)};
  model.weight_activation = {Memory(500'000), Memory(500'000)};
  model.transfer_forward = {Ticks(4)};
  model.transfer_backward = {Ticks(5)};
  model.step = {Ticks(0), Ticks(2)};
  const Problem problem = test::problem_of(2, {model});
  const Lowering lowering = lower(problem, BackwardForm::split);
  std::vector<Ticks> start = max_heads(lowering.graph);
  return to_schedule(problem, lowering.graph, evaluate(lowering.graph, start));
}

ScheduledOp& row(Schedule& schedule, std::size_t device, const std::string& name) {
  for (ScheduledOp& op : schedule.devices[device])
    if (short_name(op.label) == name) return op;
  ADD_FAILURE() << name;
  return schedule.devices[0][0];
}

void expect_violation(const Schedule& schedule, Rule rule, const std::string& part) {
  const auto violation = validate(schedule);
  ASSERT_TRUE(violation.has_value()) << name_of(rule);
  EXPECT_EQ(violation->rule, rule) << violation->message;
  EXPECT_THAT(violation->message, HasSubstr(part));
}

TEST(Validate, AcceptsAValidSchedule) {
  const auto violation = validate(valid_schedule());
  EXPECT_FALSE(violation.has_value()) << violation->message;
}

TEST(Validate, UnknownOps) {
  Schedule schedule = valid_schedule();
  schedule.devices[0][0].label.model = ModelId(1);
  expect_violation(schedule, Rule::unknown_op, "model 1 does not exist");
  schedule = valid_schedule();
  schedule.devices[0][0].label.stage = StageId(2);
  expect_violation(schedule, Rule::unknown_op, "has no stage 2");
  schedule = valid_schedule();
  schedule.devices[0][0].label.microbatch = MicrobatchId(-1);
  expect_violation(schedule, Rule::unknown_op, "has no micro-batch -1");
}

TEST(Validate, RowsOnTheWrongDevice) {
  Schedule schedule = valid_schedule();
  std::swap(schedule.devices[0], schedule.devices[1]);
  expect_violation(schedule, Rule::wrong_device, "is on device 0; its stage is on device 1");
  schedule = valid_schedule();
  schedule.devices.emplace_back();
  expect_violation(schedule, Rule::wrong_device, "has 3 devices, but the problem has 2");
}

TEST(Validate, RepeatedAndMissingOps) {
  Schedule schedule = valid_schedule();
  schedule.devices[0].push_back(schedule.devices[0].front());
  expect_violation(schedule, Rule::duplicate_op, "F0 of actor stage 0 is a duplicate");
  schedule = valid_schedule();
  schedule.devices[0].push_back(row(schedule, 0, "0I0"));
  schedule.devices[0].back().label.kind = OpKind::B;
  expect_violation(schedule, Rule::duplicate_op, "B0 of actor stage 0 is a duplicate");
  for (const char* name : {"0F0", "0I0", "0W0", "0S0"}) {
    schedule = valid_schedule();
    std::erase_if(schedule.devices[0], [&](const ScheduledOp& op) { return short_name(op.label) == name; });
    expect_violation(schedule, Rule::missing_op, "is missing on device 0");
  }
}

TEST(Validate, Durations) {
  Schedule schedule = valid_schedule();
  row(schedule, 1, "1I0").end += Ticks(1);
  expect_violation(schedule, Rule::wrong_duration, "I0 of actor stage 1 lasts 4; in the problem it lasts 3");
}

TEST(Validate, Overlap) {
  Schedule schedule = valid_schedule();
  ScheduledOp& late = row(schedule, 1, "1W0");
  const Ticks earlier = row(schedule, 1, "1I0").end - Ticks(1);
  late.end = earlier + (late.end - late.start);
  late.start = earlier;
  expect_violation(schedule, Rule::overlap, "W0 of actor stage 1");
}

TEST(Validate, EveryPrecedence) {
  const auto shift_one_earlier = [](std::size_t device, const std::string& name) {
    Schedule schedule = valid_schedule();
    ScheduledOp& op = row(schedule, device, name);
    op.start -= Ticks(1);
    op.end -= Ticks(1);
    return schedule;
  };
  expect_violation(shift_one_earlier(1, "1F0"), Rule::precedence, "plus a transfer of 4");
  expect_violation(shift_one_earlier(0, "0I0"), Rule::precedence, "plus a transfer of 5");
  expect_violation(shift_one_earlier(0, "0F0"), Rule::precedence, "starts before time 0");
  // The step of a stage waits for its weight gradients, and the next mini-batch for the step; any earlier, they would
  // overlap.
  EXPECT_TRUE(validate(shift_one_earlier(1, "1S0")).has_value());
  EXPECT_TRUE(validate(shift_one_earlier(0, "0F1")).has_value());
}

TEST(Validate, AStepWaitsForTheOtherReplicas) {
  Model model = test::chain_model("actor", {0}, 1, 1, 1);
  model.replicas.push_back({DeviceId(1)});
  model.step = {Ticks(1)};
  const Problem problem = test::problem_of(2, {model});
  const Lowering lowering = lower(problem, BackwardForm::whole);
  std::vector<Ticks> start = max_heads(lowering.graph);
  Schedule schedule = to_schedule(problem, lowering.graph, evaluate(lowering.graph, start));
  EXPECT_FALSE(validate(schedule).has_value());
  for (const char* name : {"0F0", "0B0"}) {
    row(schedule, 1, name).start += Ticks(1);
    row(schedule, 1, name).end += Ticks(1);
  }
  row(schedule, 1, "0S0").start += Ticks(1);
  row(schedule, 1, "0S0").end += Ticks(1);
  schedule.claims = {};
  expect_violation(schedule, Rule::precedence, "S0 of actor/0 stage 0");
}

/// Two stages and two mini-batches of one micro-batch on each of two replicas. Transfers make replica 1 the slower one.
Problem two_replicas() {
  Model model = test::chain_model("actor", {0, 1}, 1, 1, 2);
  model.replicas.push_back({DeviceId(2), DeviceId(3)});
  model.minibatches = 2;
  model.step = {Ticks(1), Ticks(3)};
  return test::problem_of(4, {model});
}

/// Returns the earliest schedule under `waits`, as a schedule of `judged`.
Schedule earliest(const Problem& waits, const Problem& judged) {
  const Lowering lowering = lower(waits, BackwardForm::whole);
  Schedule schedule = to_schedule(waits, lowering.graph, evaluate(lowering.graph, max_heads(lowering.graph)));
  schedule.problem = judged;
  return schedule;
}

TEST(Validate, AStepWaitsForAllStagesIfConfigured) {
  const Problem by_stage = two_replicas();
  Problem by_model = by_stage;
  by_model.models[0].step_after = StepAfter::model;
  EXPECT_FALSE(validate(earliest(by_stage, by_stage)).has_value());
  EXPECT_FALSE(validate(earliest(by_model, by_model)).has_value());
  EXPECT_FALSE(validate(earliest(by_model, by_stage)).has_value()) << "a later start is valid";
  expect_violation(
      earliest(by_stage, by_model), Rule::precedence,
      "S0 of actor/0 stage 1 [4, 7] on device 1 starts too early: it needs B0 of actor/0 stage 0 [4, 6] on device 0");
}

TEST(Validate, AStepThatWaitsForAllStagesWaitsForTheirWeightGradients) {
  Problem by_stage = two_replicas();
  by_stage.models[0].weight_gradient = {Ticks(1), Ticks(4)};
  by_stage.models[0].weight_activation = by_stage.models[0].activation;
  Problem by_model = by_stage;
  by_model.models[0].step_after = StepAfter::model;
  const auto expect_needed = [&](BackwardForm form, std::size_t stage, const std::string& needed) {
    const Lowering lowering = lower(by_model, form);
    Schedule schedule = to_schedule(by_model, lowering.graph, evaluate(lowering.graph, max_heads(lowering.graph)));
    EXPECT_FALSE(validate(schedule).has_value());
    ScheduledOp& step = row(schedule, stage, std::to_string(stage) + "S0");
    step.start -= Ticks(1);
    step.end -= Ticks(1);
    expect_violation(schedule, Rule::precedence, "it needs " + needed);
  };
  expect_needed(BackwardForm::split, 0, "W0 of actor/0 stage 1");
  expect_needed(BackwardForm::whole, 1, "B0 of actor/0 stage 0");
}

TEST(Validate, AForwardWaitsForStepsOfAllReplicasIfConfigured) {
  const Problem by_own = two_replicas();
  Problem by_replicas = by_own;
  by_replicas.models[0].step_before = StepBefore::replicas;
  Schedule schedule = earliest(by_own, by_own);
  // Replica 1 takes its first step on stage 0 late. Its own forward waits; the forward of replica 0 need not.
  for (const std::size_t device : {2U, 3U})
    for (ScheduledOp& op : schedule.devices[device]) {
      const bool stays = op.label.kind != OpKind::S && op.label.microbatch.value == 0;
      if (stays ||
          (device == 3 && op.label == OpLabel{OpKind::S, ModelId(0), ReplicaId(1), StageId(1), MicrobatchId(0)}))
        continue;
      op.start += Ticks(5);
      op.end += Ticks(5);
    }
  for (const std::size_t device : {0U, 1U}) {
    row(schedule, device, device == 0 ? "0S1" : "1S1").start += Ticks(5);
    row(schedule, device, device == 0 ? "0S1" : "1S1").end += Ticks(5);
  }
  schedule.claims = {};
  const auto violation = validate(schedule);
  EXPECT_FALSE(violation.has_value()) << violation->message;
  schedule.problem = by_replicas;
  expect_violation(
      schedule, Rule::precedence,
      "F1 of actor/0 stage 0 [7, 8] on device 0 starts too early: it needs S0 of actor/1 stage 0 [11, 12] on device 2");
}

TEST(Validate, WithoutStepsNothingWaitsForThem) {
  Problem problem = two_replicas();
  problem.models[0].minibatches = 1;
  problem.models[0].step = {Ticks(0), Ticks(0)};
  Problem keys = problem;
  keys.models[0].step_after = StepAfter::model;
  keys.models[0].step_before = StepBefore::replicas;
  EXPECT_FALSE(validate(earliest(problem, keys)).has_value());
  EXPECT_FALSE(validate(earliest(keys, problem)).has_value());
}

TEST(Validate, Capacity) {
  Schedule schedule = valid_schedule();
  schedule.problem.capacity = {Memory(1'000'000), Memory(1'000'000)};
  EXPECT_FALSE(validate(schedule).has_value());
  schedule.problem.resident[1] = Memory(1);
  expect_violation(schedule, Rule::capacity, "raises the memory of device 1 to 1.000001; its capacity is 1");
}

TEST(Validate, Claims) {
  Schedule schedule = valid_schedule();
  *schedule.claims.makespan += Ticks(1);
  expect_violation(schedule, Rule::false_makespan, "the file claims makespan");
  schedule = valid_schedule();
  *schedule.claims.peak_activation += Memory(50);
  expect_violation(schedule, Rule::false_peak, "the file claims peak activation 1.00005; the actual value is 1");
  EXPECT_FALSE(validate(schedule, Tolerance{Memory(50)}).has_value());
  schedule.claims = {};
  EXPECT_FALSE(validate(schedule).has_value());
}

}  // namespace
}  // namespace dovetail::pipeline
