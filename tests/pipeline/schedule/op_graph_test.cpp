#include "pipeline/schedule/op_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "pipeline/schedule/schedule.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::pipeline {
namespace {

using testing::ElementsAre;

std::set<std::string> names(const OpGraph& graph, std::span<const Arc> arcs) {
  std::set<std::string> result;
  for (const Arc& arc : arcs)
    result.insert(short_name(graph.labels[arc.op.index()]) + "+" + std::to_string(arc.lag.count()));
  return result;
}

OpId find(const OpGraph& graph, const std::string& name) {
  for (std::size_t op = 0; op < graph.size(); ++op)
    if (short_name(graph.labels[op]) == name) return OpId(op);
  ADD_FAILURE() << name;
  return OpId(0);
}

Problem split_with_steps() {
  Model model = test::chain_model("actor", {0, 1}, 2, 3, 4);
  model.minibatches = 2;
  model.weight_gradient = {Ticks(2), Ticks(2)};
  model.weight_activation = {Memory(300'000), Memory(300'000)};
  model.transfer_forward = {Ticks(5)};
  model.transfer_backward = {Ticks(7)};
  model.step = {Ticks(1), Ticks(1)};
  return test::problem_of(2, {model});
}

TEST(OpGraph, EveryMicrobatchWaitsForItsNeighborStageAndTheTransfer) {
  const OpGraph graph = lower(split_with_steps(), BackwardForm::split).graph;
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "0F0"))), testing::IsEmpty());
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "1F0"))), ElementsAre("0F0+5"));
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "1I0"))), ElementsAre("1F0+0"));
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "0I0"))), ElementsAre("0F0+0", "1I0+7"));
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "0W0"))), ElementsAre("0I0+0"));
}

TEST(OpGraph, StepsEndMinibatches) {
  const OpGraph graph = lower(split_with_steps(), BackwardForm::split).graph;
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "0S0"))), ElementsAre("0W0+0", "0W1+0"));
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "0S1"))), ElementsAre("0W2+0", "0W3+0"));
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "0F2"))), ElementsAre("0S0+0"));
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "1F3"))), ElementsAre("0F3+5", "1S0+0"));
}

RC_GTEST_PROP(OpGraph, EachOpIsFoundByItsLabel, ()) {
  const Lowering lowering = lower(*test::problems(), *rc::gen::element(BackwardForm::whole, BackwardForm::split));
  for (std::size_t op = 0; op < lowering.graph.size(); ++op)
    RC_ASSERT(lowering.find(lowering.graph.labels[op]) == OpId(op));
}

TEST(OpGraph, AStepWaitsForAllReplicasAndForwardsForTheirOwn) {
  Problem problem = split_with_steps();
  problem.devices = 4;
  problem.resident.resize(4);
  problem.models[0].replicas.push_back({DeviceId(2), DeviceId(3)});
  const Lowering lowering = lower(problem, BackwardForm::whole);
  const auto step = lowering.steps[static_cast<std::size_t>(lowering.pipeline_stage(PipelineId(1), StageId(1)))][0];
  std::map<int, int> by_replica;
  for (const Arc& arc : lowering.graph.predecessors(step))
    ++by_replica[lowering.graph.labels[arc.op.index()].replica.value];
  EXPECT_EQ(by_replica, (std::map<int, int>{{0, 2}, {1, 2}}));
  for (const Arc& arc : lowering.graph.successors(step))
    EXPECT_EQ(lowering.graph.labels[arc.op.index()].replica.value, 1);
}

TEST(OpGraph, AStepMayWaitForAllStages) {
  Problem problem = split_with_steps();
  problem.models[0].step_after = StepAfter::model;
  const OpGraph split = lower(problem, BackwardForm::split).graph;
  for (const char* step : {"0S0", "1S0"})
    EXPECT_THAT(names(split, split.predecessors(find(split, step))), ElementsAre("0W0+0", "0W1+0", "1W0+0", "1W1+0"));
  // A whole backward of stage 0 comes after the one of stage 1.
  const OpGraph whole = lower(problem, BackwardForm::whole).graph;
  for (const char* step : {"0S0", "1S0"})
    EXPECT_THAT(names(whole, whole.predecessors(find(whole, step))), ElementsAre("0B0+0", "0B1+0"));
  EXPECT_THAT(names(whole, whole.predecessors(find(whole, "1F3"))), ElementsAre("0F3+5", "1S0+0"));
}

TEST(OpGraph, ForwardsMayWaitForTheStepsOfAllReplicas) {
  Problem problem = split_with_steps();
  problem.devices = 4;
  problem.resident.resize(4);
  problem.models[0].replicas.push_back({DeviceId(2), DeviceId(3)});
  problem.models[0].step_before = StepBefore::replicas;
  const Lowering lowering = lower(problem, BackwardForm::whole);
  for (const int replica : {0, 1}) {
    std::set<int> waited_for;
    const OpId forward = lowering.ops(PipelineId(replica), StageId(1), MicrobatchId(2)).forward;
    for (const Arc& arc : lowering.graph.predecessors(forward))
      if (lowering.graph.labels[arc.op.index()].kind == OpKind::S)
        waited_for.insert(lowering.graph.labels[arc.op.index()].replica.value);
    EXPECT_EQ(waited_for, (std::set<int>{0, 1}));
  }
}

/// [op] Whether a path of edges leads from it to `op`.
std::vector<bool> ancestors_of(const OpGraph& graph, OpId op) {
  std::vector<bool> before(graph.size());
  std::vector<OpId> open{op};
  while (!open.empty()) {
    const OpId last = open.back();
    open.pop_back();
    for (const Arc& arc : graph.predecessors(last)) {
      if (before[arc.op.index()]) continue;
      before[arc.op.index()] = true;
      open.push_back(arc.op);
    }
  }
  return before;
}

RC_GTEST_PROP(OpGraph, AStepFollowsEverythingItWaitsFor, (std::uint64_t seed)) {
  test::RandomProblemOptions options;
  options.max_ops = 80;
  const Problem problem = *test::problems(options);
  std::vector<bool> whole(lower(problem, BackwardForm::whole).microbatch_ops.size());
  for (std::size_t index = 0; index < whole.size(); ++index) whole[index] = (seed >> (index % 64)) % 2 == 0;
  const Lowering lowering = lower(problem, whole);
  for (std::size_t op = 0; op < lowering.graph.size(); ++op) {
    const OpLabel& step = lowering.graph.labels[op];
    if (step.kind != OpKind::S) continue;
    const Model& model = problem.models[step.model.index()];
    const std::vector<bool> before = ancestors_of(lowering.graph, OpId(op));
    for (std::size_t r = 0; r < model.replicas.size(); ++r)
      for (int s = 0; s < model.stages(); ++s)
        for (int m = 0; m < model.microbatches; ++m) {
          if (s != step.stage.value && model.step_after == StepAfter::stage) continue;
          const MicrobatchId microbatch(step.microbatch.value * model.microbatches + m);
          const PipelineId pipeline(lowering.first_pipeline[step.model.index()].index() + r);
          RC_ASSERT(before[lowering.ops(pipeline, StageId(s), microbatch).weight_gradient.index()]);
        }
  }
}

TEST(OpGraph, ForwardAllocatesAndBackwardFreesMemory) {
  const OpGraph split = lower(split_with_steps(), BackwardForm::split).graph;
  EXPECT_EQ(split.acquire[find(split, "0F0").index()], Memory(1'000'000));
  EXPECT_EQ(split.release[find(split, "0I0").index()], Memory(700'000));
  EXPECT_EQ(split.release[find(split, "0W0").index()], Memory(300'000));
  const OpGraph whole = lower(split_with_steps(), BackwardForm::whole).graph;
  EXPECT_EQ(whole.release[find(whole, "0B0").index()], Memory(1'000'000));
  EXPECT_EQ(whole.duration[find(whole, "0B0").index()], Ticks(6));
}

TEST(OpGraph, StagesOnOneDeviceHaveNoTransferBetweenThem) {
  Problem problem = split_with_steps();
  problem.models[0].replicas = {{DeviceId(1), DeviceId(1)}};
  const OpGraph graph = lower(problem, BackwardForm::split).graph;
  EXPECT_THAT(names(graph, graph.predecessors(find(graph, "1F0"))), ElementsAre("0F0+0"));
}

TEST(OpGraph, MaxPaths) {
  const OpGraph graph = lower(split_with_steps(), BackwardForm::split).graph;
  EXPECT_EQ(max_heads(graph)[find(graph, "1F0").index()], Ticks(8));
  EXPECT_EQ(max_heads(graph)[find(graph, "0I0").index()], Ticks(3 + 5 + 3 + 4 + 7));
  EXPECT_EQ(max_tails(graph)[find(graph, "0S1").index()], Ticks(0));
  EXPECT_EQ(max_tails(graph)[find(graph, "1I2").index()], Ticks(7 + 4 + 2 + 1));
}

RC_GTEST_PROP(OpGraph, TopologicalOrderPutsPredecessorsFirst, ()) {
  const Problem problem = *test::problems();
  const OpGraph graph = lower(problem, BackwardForm::split).graph;
  std::vector<std::size_t> position(graph.size());
  const std::vector<OpId> order = topological_order(graph);
  for (std::size_t index = 0; index < order.size(); ++index) position[order[index].index()] = index;
  for (std::size_t op = 0; op < graph.size(); ++op)
    for (const Arc& arc : graph.predecessors(OpId(op))) RC_ASSERT(position[arc.op.index()] < position[op]);
  RC_ASSERT(static_cast<std::int64_t>(lower(problem, BackwardForm::whole).graph.size()) == count_ops(problem));
}

}  // namespace
}  // namespace dovetail::pipeline
