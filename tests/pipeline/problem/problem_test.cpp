#include "pipeline/problem/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/problem/problem_file.h"
#include "support/problem_maker.h"

namespace dovetail::pipeline {
namespace {

Problem sound() { return test::problem_of(2, {test::chain_model("actor", {0, 1}, 3, 1, 2)}); }

void expect_fault(const Problem& problem, const std::string& part) {
  const auto fault = find_fault(problem);
  ASSERT_TRUE(fault.has_value()) << part;
  EXPECT_THAT(*fault, testing::HasSubstr(part));
}

TEST(Problem, AValidProblemHasNoFault) { EXPECT_EQ(find_fault(sound()), std::nullopt); }

TEST(Problem, EachFaultIsNamed) {
  Problem problem = sound();
  problem.devices = 0;
  expect_fault(problem, "the number of devices is 0");
  problem = sound();
  problem.models[0].replicas[0][1] = DeviceId(2);
  expect_fault(problem, "model actor has a stage on device 2, which does not exist");
  problem = sound();
  problem.models[0].forward[0] = Ticks(0);
  expect_fault(problem, "has an op that is shorter than one tick");
  problem = sound();
  problem.models[0].backward.pop_back();
  expect_fault(problem, "needs backward, activation and step for each stage");
  problem = sound();
  problem.models.push_back(problem.models[0]);
  expect_fault(problem, "two models are named actor");
  problem = sound();
  problem.models[0].weight_gradient.assign(2, Ticks(1));
  expect_fault(problem, "or neither");
  problem.models[0].weight_activation.assign(2, Memory(2'000'000));
  expect_fault(problem, "larger than its activation");
  problem = sound();
  problem.models[0].transfer_forward = {Ticks(-1)};
  expect_fault(problem, "has a transfer or step that is negative");
  problem = sound();
  problem.models[0].microbatches = 1 << 23;
  expect_fault(problem, "with model actor there are more than 1048576 ops");
  problem = sound();
  problem.resident = {Memory(0), Memory(5)};
  problem.capacity = {Memory(4), Memory(4)};
  expect_fault(problem, "the capacity of device 1 is less than its resident memory");
  problem.capacity->back() = Memory(5);
  EXPECT_EQ(find_fault(problem), std::nullopt);
  problem = sound();
  problem.models[0].microbatches = 1 << 12;
  problem.models[0].forward[0] = Ticks(base::max_time);
  expect_fault(problem, "durations and transfers that add up to more than 4000000000000000000");
  problem = sound();
  problem.models[0].step = {Ticks(1), Ticks(1)};
  problem.models[0].microbatches = 1;
  problem.models[0].replicas.assign(5000, {DeviceId(0), DeviceId(1)});
  expect_fault(problem, "more than 33554432 dependencies of optimizer steps");
  problem.models.clear();
  expect_fault(problem, "there are no models");
}

TEST(Problem, CountsStepDependencies) {
  Model model = sound().models[0];
  model.minibatches = 2;
  model.replicas.assign(3, model.replicas[0]);
  const auto dependencies_of = [](const Model& counted) {
    ProblemTotals totals;
    EXPECT_EQ(add_to_totals(totals, counted), std::nullopt);
    return totals.step_dependencies;
  };
  const std::int64_t minibatch = std::int64_t{3} * model.stages() * model.microbatches;
  EXPECT_EQ(dependencies_of(model), 2 * 3 * minibatch) << "each step on its stage in three replicas";
  model.step_after = StepAfter::model;
  EXPECT_EQ(dependencies_of(model), 2 * 3 * minibatch) << "whole backwards of the first stage represent all stages";
  model.step_before = StepBefore::replicas;
  EXPECT_EQ(dependencies_of(model), 3 * 3 * minibatch) << "and each forward of the second mini-batch on three steps";
  model.weight_gradient = model.backward;
  model.weight_activation = model.activation;
  EXPECT_EQ(dependencies_of(model), (2 * 3 * model.stages() + 3) * minibatch) << "weight gradients have no order";
}

TEST(Problem, CountsOpsAndNamesPipelines) {
  Problem problem = sound();
  EXPECT_EQ(count_ops(problem), 2 * 2 * 3);
  problem.models[0].minibatches = 2;
  EXPECT_EQ(count_ops(problem), 2 * (2 * 6 + 2));
  EXPECT_EQ(pipeline_name(problem, {ModelId(0), ReplicaId(0)}), "actor");
  problem.models[0].replicas.push_back({DeviceId(1), DeviceId(0)});
  EXPECT_EQ(pipeline_name(problem, {ModelId(0), ReplicaId(1)}), "actor/1");
  EXPECT_EQ(pipelines_of(problem).size(), 2u);
}

TEST(WithDefaults, FillsInDefaultsOfFiles) {
  const auto from_file = parse_problem(
      "{format: dovetail/pipeline-problem@1, time_unit: tick, devices: 4, models: ["
      "{name: actor, microbatches: 8, devices: [0, 1, 2, 3], forward: 3, backward: 6, activation: 2},"
      "{name: critic, replicas: [[0, 1], [3, 2]], microbatches: 2, forward: [1, 2], backward: 2, weight_gradient: 1, "
      "activation: 1.5}]}",
      "file");
  ASSERT_TRUE(from_file.ok()) << to_text(from_file.error());

  Problem problem;
  problem.devices = 4;
  Model& actor = problem.models.emplace_back();
  actor.name = "actor";
  actor.microbatches = 8;
  actor.replicas = {device_list({0, 1, 2, 3})};
  actor.forward = {Ticks(3)};
  actor.backward = {Ticks(6)};
  actor.activation = {Memory(2'000'000)};
  Model& critic = problem.models.emplace_back();
  critic.name = "critic";
  critic.microbatches = 2;
  critic.replicas = {device_list({0, 1}), device_list({3, 2})};
  critic.forward = {Ticks(1), Ticks(2)};
  critic.backward = {Ticks(2)};
  critic.weight_gradient = {Ticks(1)};
  critic.activation = {Memory(1'500'000)};
  EXPECT_TRUE(find_fault(problem).has_value());
  EXPECT_EQ(with_defaults(problem), *from_file);
  EXPECT_EQ(with_defaults(with_defaults(problem)), *from_file);
}

TEST(WithDefaults, KeepsErrorsForFindFault) {
  Problem problem = sound();
  EXPECT_EQ(with_defaults(problem), problem);
  problem.models[0].backward.clear();
  EXPECT_EQ(with_defaults(problem), problem);
  problem.models[0].backward.assign(3, Ticks(1));
  EXPECT_EQ(with_defaults(problem), problem);
  problem.models[0].replicas.clear();
  EXPECT_EQ(with_defaults(problem), problem);
  problem.devices = -1;
  problem.resident.clear();
  expect_fault(with_defaults(problem), "the number of devices is -1");
}

TEST(WithDefaults, AModelOfOneStageHasNoBoundary) {
  Problem problem;
  problem.devices = 1;
  Model& model = problem.models.emplace_back();
  model.name = "reward";
  model.replicas = {device_list({0})};
  model.forward = {Ticks(1)};
  model.backward = {Ticks(1)};
  model.transfer_forward = {Ticks(5)};
  const Problem filled = with_defaults(problem);
  EXPECT_EQ(find_fault(filled), std::nullopt);
  EXPECT_TRUE(filled.models[0].transfer_forward.empty());
}

}  // namespace
}  // namespace dovetail::pipeline
