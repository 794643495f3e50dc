#include "pipeline/program/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "pipeline/problem/instances.h"
#include "pipeline/program/check.h"
#include "pipeline/schedule/evaluate.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"

namespace dovetail::pipeline {
namespace {

/// Returns exchanges that fit the steps of the problem, with a tied weight wherever possible.
std::vector<Exchanges> all_exchanges_of(const Problem& problem) {
  std::vector<Exchanges> exchanges = exchanges_of(problem);
  for (Exchanges& own : exchanges) own.tied = own.clips_by_norm;
  return exchanges;
}

Exchanges with(bool clips_by_norm, bool tied, bool shards_steps) {
  Exchanges exchanges;
  exchanges.clips_by_norm = clips_by_norm;
  exchanges.tied = tied;
  exchanges.shards_steps = shards_steps;
  return exchanges;
}

/// Returns the ops of the rank in program order.
std::vector<OpLabel> ops_of(const Program& program) {
  std::vector<OpLabel> labels;
  for (const Instruction& instruction : program.code) {
    if (instruction.code != Code::run) continue;
    const ProgramStage& stage = program.stages[static_cast<std::size_t>(instruction.target)];
    labels.push_back({instruction.op, stage.model, stage.replica, stage.stage, instruction.microbatch});
  }
  return labels;
}

/// Returns the ops of a device in order of start.
std::vector<OpLabel> ops_of(std::vector<ScheduledOp> device) {
  std::stable_sort(device.begin(), device.end(), [](const ScheduledOp& a, const ScheduledOp& b) {
    return std::tuple(a.start, a.end) < std::tuple(b.start, b.end);
  });
  std::vector<OpLabel> labels;
  for (const ScheduledOp& op : device) labels.push_back(op.label);
  return labels;
}

void expect_sound(const Schedule& schedule) {
  const auto programs = compile(schedule, rank_per_device(schedule.problem), all_exchanges_of(schedule.problem));
  ASSERT_TRUE(programs.ok()) << programs.error().message;
  for (const Delivery delivery : deliveries) {
    const auto fault = check(*programs, delivery);
    ASSERT_FALSE(fault.has_value()) << name_of(delivery) << ": " << describe(*fault);
  }
  const Evaluation evaluation = evaluate(schedule).evaluation;
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    EXPECT_EQ(ops_of((*programs)[device]), ops_of(schedule.devices[device]));
    EXPECT_EQ((*programs)[device].peak.activation, evaluation.devices[device].peak);
  }
}

TEST(Compile, MakesSoundProgramsOfRandomSchedules) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    expect_sound(test::random_schedule(test::random_problem(seed), seed));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Compile, MakesSoundProgramsOfTheInstances) {
  for (const Instance& instance : instances()) {
    if (count_ops(instance.problem) > 40'000) continue;
    SCOPED_TRACE(instance.name);
    expect_sound(test::random_schedule(instance.problem, 1));
  }
}

/// One model on two devices with one micro-batch, and a replica on two others.
Problem two_replicas() {
  Problem problem;
  problem.devices = 4;
  Model model;
  model.name = "actor";
  model.minibatches = 2;
  model.microbatches = 2;
  model.replicas = {device_list({0, 1}), device_list({2, 3})};
  model.forward = model.backward = {Ticks(2)};
  model.activation = {Memory(1)};
  model.step = {Ticks(1)};
  model.step_after = StepAfter::model;
  model.step_before = StepBefore::replicas;
  problem.models = {model};
  return with_defaults(problem);
}

TEST(Compile, ReducesBetweenBackwardAndStepAndGathersWeightsBeforeTheNextForward) {
  const Schedule schedule = test::random_schedule(two_replicas(), 1);
  const auto programs = compile(schedule, rank_per_device(schedule.problem), {with(true, true, true)});
  ASSERT_TRUE(programs.ok());
  std::vector<ReductionKind> kinds;
  for (const Reduction& reduction : programs->front().reductions) kinds.push_back(reduction.kind);
  using enum ReductionKind;
  EXPECT_THAT(kinds, testing::ElementsAre(gradients, tied, norm, weights, gradients, tied, norm, weights));
  EXPECT_THAT(programs->front().reductions[0].ranks, testing::ElementsAre(0, 2));
  EXPECT_THAT(programs->front().reductions[1].ranks, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(programs->front().code.back(), (Instruction{Code::await, OpKind::F, 7, {}}));
}

TEST(Compile, RejectsExchangesThatStepsDoNotWaitFor) {
  Problem problem = two_replicas();
  problem.models.front().step_after = StepAfter::stage;
  problem.models.front().step_before = StepBefore::own;
  const Schedule schedule = test::random_schedule(problem, 1);
  const Placement placement = rank_per_device(problem);
  const auto message = [&](const Exchanges& exchanges) {
    const auto programs = compile(schedule, placement, {exchanges});
    return programs.ok() ? "" : programs.error().message;
  };
  EXPECT_THAT(message(with(true, false, false)), testing::HasSubstr("set `step_after: model`"));
  EXPECT_THAT(message(with(false, true, false)), testing::HasSubstr("ties a weight"));
  EXPECT_THAT(message(with(false, false, true)), testing::HasSubstr("set `step_before: replicas`"));
  Exchanges too_many;
  too_many.forward_bytes = {1, 2};
  EXPECT_THAT(message(too_many), testing::HasSubstr("it must have 1"));
  EXPECT_EQ(message({}), "");
}

/// Returns fused layouts of two models with different tensor parallelism.
FusedLayouts merged_layouts() {
  const auto layout = [](const char* name, int pipeline, int tensor, Ticks time) {
    const auto stages = static_cast<std::size_t>(pipeline);
    ModelLayout model;
    model.name = name;
    model.data_parallel = 2;
    model.pipeline_parallel = pipeline;
    model.tensor_parallel = tensor;
    model.microbatches = 4;
    model.forward = model.backward = std::vector<Ticks>(stages, time);
    model.activation = std::vector<Memory>(stages, Memory(time.count()));
    return model;
  };
  const ModelLayout wide = layout("actor", 2, 2, Ticks(4));
  const ModelLayout narrow = layout("critic", 4, 1, Ticks(2));
  return *fuse_layouts(wide, narrow, TimeUnit::tick);
}

TEST(Compile, SpreadsGroupsTensorParallelRanksAndMergedStages) {
  FusedLayouts fused = merged_layouts();
  ASSERT_EQ(fused.groups, 2);
  ASSERT_EQ(fused.merged_stages, 2);
  for (Model& model : fused.problem.models) {
    model.minibatches = 2;
    model.microbatches = 2;
    model.step.assign(model.forward.size(), Ticks(1));
    model.step_after = StepAfter::model;
    model.step_before = StepBefore::replicas;
  }
  const Placement placement = placement_of(fused);
  EXPECT_EQ(placement.ranks, 8);
  EXPECT_EQ(placement.models[0].ranks[1][0], (std::vector<int>{4, 5}));
  EXPECT_EQ(placement.models[1].ranks[0], (std::vector<std::vector<int>>{{2}, {3}, {0}, {1}}));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Schedule schedule = test::random_schedule(fused.problem, seed);
    const auto programs = compile(schedule, placement, all_exchanges_of(fused.problem));
    ASSERT_TRUE(programs.ok()) << programs.error().message;
    for (const Delivery delivery : deliveries) {
      const auto fault = check(*programs, delivery);
      ASSERT_FALSE(fault.has_value()) << describe(*fault);
    }
  }
}

TEST(Placement, RejectsPlacementsOfOtherProblems) {
  const Problem problem = two_replicas();
  const Placement sound = rank_per_device(problem);
  const auto message = [&](auto change) {
    Placement placement = sound;
    change(placement);
    const base::Status status = check_placement(problem, placement);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(message([](Placement&) {}), "");
  EXPECT_THAT(message([](Placement& p) { p.models.clear(); }), testing::HasSubstr("the problem has 1"));
  EXPECT_THAT(message([](Placement& p) { p.ranks = 3; }), testing::HasSubstr("from 0 to 2"));
  EXPECT_THAT(message([](Placement& p) { p.models[0].parts = 2; }), testing::HasSubstr("it must have 4"));
  EXPECT_THAT(message([](Placement& p) { p.groups = 2; }), testing::HasSubstr("it must have 4"));
  EXPECT_THAT(message([](Placement& p) { p.models[0].ranks[1][1] = {0}; }),
              testing::HasSubstr("rank 0 is on device 0"));
  EXPECT_THAT(message([](Placement& p) { p.models[0].ranks[0][0].clear(); }), testing::HasSubstr("at least one"));
}

}  // namespace
}  // namespace dovetail::pipeline
