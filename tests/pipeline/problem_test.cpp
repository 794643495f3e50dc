#include "pipeline/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/problem_maker.h"

namespace dovetail::pipeline {
namespace {

Problem sound() { return test::problem_of(2, {test::chain_model("actor", {0, 1}, 3, 1, 2)}); }

void expect_fault(const Problem& problem, const std::string& part) {
  const auto fault = find_fault(problem);
  ASSERT_TRUE(fault.has_value()) << part;
  EXPECT_THAT(*fault, testing::HasSubstr(part));
}

TEST(Problem, ASoundOneHasNoFault) { EXPECT_EQ(find_fault(sound()), std::nullopt); }

TEST(Problem, EachFaultIsNamed) {
  Problem problem = sound();
  problem.devices = 0;
  expect_fault(problem, "the number of devices is 0");
  problem = sound();
  problem.models[0].replicas[0][1] = DeviceId(2);
  expect_fault(problem, "model actor has a stage on device 2, which does not exist");
  problem = sound();
  problem.models[0].forward[0] = Ticks(0);
  expect_fault(problem, "lasts less than one tick");
  problem = sound();
  problem.models[0].backward.pop_back();
  expect_fault(problem, "needs backward, activation and step for each stage");
  problem = sound();
  problem.models.push_back(problem.models[0]);
  expect_fault(problem, "two models are called actor");
  problem = sound();
  problem.models[0].weight_gradient.assign(2, Ticks(1));
  expect_fault(problem, "or neither");
  problem.models[0].weight_activation.assign(2, Memory(2'000'000));
  expect_fault(problem, "larger than its activation");
  problem = sound();
  problem.models[0].transfer_forward = {Ticks(-1)};
  expect_fault(problem, "negative transfer");
  problem = sound();
  problem.models[0].microbatches = 1 << 23;
  expect_fault(problem, "with model actor there are more than 16777216 ops");
  problem = sound();
  problem = sound();
  problem.models[0].microbatches = 1 << 12;
  problem.models[0].forward[0] = Ticks(base::largest_time);
  expect_fault(problem, "times that are too long to be added up");
  problem = sound();
  problem.models[0].step = {Ticks(1), Ticks(1)};
  problem.models[0].microbatches = 1;
  problem.models[0].replicas.assign(5000, {DeviceId(0), DeviceId(1)});
  expect_fault(problem, "more than 33554432 dependencies of optimizer steps");
  problem.models.clear();
  expect_fault(problem, "there are no models");
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

}  // namespace
}  // namespace dovetail::pipeline
