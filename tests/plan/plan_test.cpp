#include "plan/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/jobs.h"

namespace dovetail::plan {
namespace {

/// The fault after `change` of the plan of `task` in a valid plan for two nodes.
template <class Change>
std::string fault_of(const std::string& task, const Change& change) {
  const Job job = test::job_of("{name: ppo, reward: rule}", 2);
  Plan plan = test::together(job, {0, 16});
  change(test::task_of(plan, job, task));
  const auto fault = find_fault(plan, job);
  if (!fault) return "none";
  EXPECT_EQ(job.workflow.tasks[fault->task].name, task);
  return fault->message;
}

TEST(FindFault, AValidPlanHasNoFault) {
  EXPECT_EQ(fault_of("actor_train", [](TaskPlan&) {}), "none");
}

TEST(FindFault, ChecksTheMesh) {
  const auto with_mesh = [](int first, int count) {
    return fault_of("actor_train", [&](TaskPlan& task) {
      task.mesh = {first, count};
      task.layout = test::layout_of(count);
    });
  };
  EXPECT_EQ(with_mesh(0, 3), "none");
  EXPECT_EQ(with_mesh(15, 1), "none");
  EXPECT_EQ(
      with_mesh(0, 17),
      "its devices 0 to 16 are not a mesh of the cluster's 16 devices; accepted: devices of one node, or whole nodes, "
      "optionally with part of the node before or after them");
  EXPECT_EQ(with_mesh(0, 12), "none") << "a node and a part of the next";
  EXPECT_EQ(with_mesh(4, 12), "none");
  EXPECT_EQ(
      with_mesh(4, 8),
      "its devices 4 to 11 are not a mesh of the cluster's 16 devices; accepted: devices of one node, or whole nodes, "
      "optionally with part of the node before or after them");
  EXPECT_EQ(
      with_mesh(-1, 1),
      "its devices -1 to -1 are not a mesh of the cluster's 16 devices; accepted: devices of one node, or whole nodes, "
      "optionally with part of the node before or after them");
}

TEST(FindFault, LayoutsFillTheirMeshAndFitTheirModel) {
  const auto with_layout = [](const llm::Layout& layout) {
    return fault_of("actor_train", [&](TaskPlan& task) { task.layout = layout; });
  };
  EXPECT_EQ(with_layout(test::layout_of(2, 4, 2)), "none");
  EXPECT_EQ(with_layout(test::layout_of(8)),
            "its layout dp8 tp1 pp1 uses 8 devices, but its mesh has 16; accepted: a layout that uses the whole mesh");
  EXPECT_EQ(
      with_layout(test::layout_of(1, 16, 2)),
      "its layout dp1 tp16 pp2 uses 32 devices, but its mesh has 16; accepted: a layout that uses the whole mesh");
  EXPECT_EQ(with_layout(test::layout_of(0)), "dp is 0; accepted: 1 to 65536");
  llm::Layout layout = test::layout_of(16);
  layout.expert = 2;
  EXPECT_EQ(with_layout(layout), "the model has no experts for expert parallelism; accepted: ep 1 and etp 1");
  layout = test::layout_of(16);
  layout.zero = 4;
  EXPECT_EQ(with_layout(layout), "zero is 4; accepted: 0 to 3");
  // Products beyond the range of int are invalid, too.
  layout = test::layout_of(65'536);
  layout.context = 65'536;
  EXPECT_EQ(with_layout(layout),
            "its layout dp65536 tp1 pp1 cp65536 uses 4294967296 devices, but its mesh has 16; accepted: a layout that "
            "uses the whole mesh");
  layout.tensor = layout.pipeline = 32;
  EXPECT_EQ(with_layout(layout),
            "its layout dp65536 tp32 pp32 cp65536 uses 4398046511104 devices, but its mesh has 16; accepted: a layout "
            "that uses the whole mesh");
}

TEST(FindFault, MicroBatchesHaveOneSize) {
  const auto with = [](const MicroBatching& micro_batching, const std::string& task = "actor_train") {
    return fault_of(task, [&](TaskPlan& plan) { plan.micro_batching = micro_batching; });
  };
  const std::string wrong =
      "its micro-batches have no size or several sizes; accepted: one of sequences, tokens and count, greater than 0";
  EXPECT_EQ(with({.sequences = 1}), "none");
  EXPECT_EQ(with({.count = 1}), "none");
  EXPECT_EQ(with({}), wrong);
  EXPECT_EQ(with({}, "reference_infer"), wrong);
  EXPECT_EQ(with({.sequences = 1, .tokens = 1}), wrong);
  EXPECT_EQ(with({.tokens = -1, .count = 1}), wrong);
  EXPECT_EQ(with({}, "actor_generate"), "none") << "engines have no micro-batches";
  EXPECT_EQ(with({}, "reward_rule"), "none");
}

TEST(FindFault, EnginesCanHoldATokenOfEachSequence) {
  const auto with = [](const Engine& engine, const std::string& task = "actor_generate") {
    return fault_of(task, [&](TaskPlan& plan) { plan.engine = engine; });
  };
  EXPECT_EQ(with({.memory_utilization = 1}), "none");
  EXPECT_EQ(with({.memory_utilization = 0}), "its engine's memory_utilization is 0; accepted: 0.01 to 1");
  EXPECT_EQ(with({.memory_utilization = 1.5}), "its engine's memory_utilization is 1.5; accepted: 0.01 to 1");
  EXPECT_EQ(with({.max_num_seqs = 0}), "its engine's max_num_seqs is 0; accepted: 1 to 16777216");
  EXPECT_EQ(with({.max_num_batched_tokens = 0}), "its engine's max_num_batched_tokens is 0; accepted: 1 to 16777216");
  EXPECT_EQ(with({.max_num_seqs = 100, .max_num_batched_tokens = 100}), "none");
  EXPECT_EQ(with({.max_num_seqs = 9000}),
            "its engine's max_num_batched_tokens is 8192; accepted: at least max_num_seqs (9000), because a decode "
            "step processes one token per sequence");
  EXPECT_EQ(with({.max_num_seqs = 9000, .own_weights = false}), "none") << "a trainer computes all prompts in one pass";
  EXPECT_EQ(with({.max_num_seqs = 0}, "actor_train"), "none") << "only generation has an engine";
}

TEST(FindFault, RulesHaveNoDevices) {
  EXPECT_EQ(fault_of("reward_rule", [](TaskPlan& task) { task = {}; }), "none");
}

RC_GTEST_PROP(FindFault, RandomPlansAreValid, ()) {
  const Job job = test::random_job();
  RC_ASSERT(!find_fault(test::random_plan(job), job).has_value());
}

}  // namespace
}  // namespace dovetail::plan
