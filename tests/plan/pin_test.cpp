#include "plan/pin.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/jobs.h"

namespace dovetail::plan {
namespace {

template <class T>
void fix_sometimes(std::optional<T>& fixed, const T& value) {
  if (*rc::gen::arbitrary<bool>()) fixed = value;
}

/// Some members of `plan`.
TaskPin random_part_of(const TaskPlan& plan) {
  TaskPin pin;
  fix_sometimes(pin.mesh, plan.mesh);
  fix_sometimes(pin.data, plan.layout.data);
  fix_sometimes(pin.context, plan.layout.context);
  fix_sometimes(pin.tensor, plan.layout.tensor);
  fix_sometimes(pin.pipeline, plan.layout.pipeline);
  fix_sometimes(pin.virtual_stages, plan.layout.virtual_stages);
  fix_sometimes(pin.expert, plan.layout.expert);
  fix_sometimes(pin.expert_tensor, plan.layout.expert_tensor);
  fix_sometimes(pin.zero, plan.layout.zero);
  fix_sometimes(pin.sequence_parallel, plan.layout.sequence_parallel);
  fix_sometimes(pin.recomputation, plan.layout.recomputation);
  fix_sometimes(pin.stage_layers, plan.layout.stage_layers);
  fix_sometimes(pin.micro_batching, plan.micro_batching);
  fix_sometimes(pin.engine.memory_utilization, plan.engine.memory_utilization);
  fix_sometimes(pin.engine.max_num_seqs, plan.engine.max_num_seqs);
  fix_sometimes(pin.engine.max_num_batched_tokens, plan.engine.max_num_batched_tokens);
  fix_sometimes(pin.engine.cuda_graphs, plan.engine.cuda_graphs);
  fix_sometimes(pin.engine.chunked_prefill, plan.engine.chunked_prefill);
  fix_sometimes(pin.engine.longest_first, plan.engine.longest_first);
  fix_sometimes(pin.engine.own_weights, plan.engine.own_weights);
  fix_sometimes(pin.offload, plan.offload);
  return pin;
}

/// A task of a random job, and two plans of it.
struct TwoPlans {
  TaskPlan one;
  TaskPlan other;
};

TwoPlans random_plans() {
  const Job job = test::random_job();
  const std::size_t task = *rc::gen::inRange<std::size_t>(0, job.workflow.tasks.size());
  return {test::random_task_plan(job, task), test::random_task_plan(job, task)};
}

RC_GTEST_PROP(Pin, AgreesWithWhatItIsAPartOf, ()) {
  const TwoPlans plans = random_plans();
  const TaskPin pin = random_part_of(plans.one);
  RC_ASSERT(agrees(pin, plans.one));
  RC_ASSERT(admits(pin, plans.one.mesh) && admits(pin, plans.one.layout));
}

RC_GTEST_PROP(Pin, AgreesWithWhatItIsAppliedTo, ()) {
  const TwoPlans plans = random_plans();
  const TaskPin pin = random_part_of(plans.one);
  TaskPlan changed = plans.other;
  apply(pin, changed);
  RC_ASSERT(agrees(pin, changed));
  RC_ASSERT(agrees(pin, plans.other) == (changed == plans.other));
  if (admits(pin, plans.other.mesh) && admits(pin, plans.other.layout)) {
    RC_ASSERT(changed.mesh == plans.other.mesh && changed.layout.devices() == plans.other.layout.devices());
  }
}

TEST(Pin, LeavesAloneWhatItDoesNotFix) {
  TaskPlan plan;
  plan.mesh = {8, 8};
  plan.layout = test::layout_of(2, 4);
  plan.layout.zero = 3;
  plan.engine.max_num_seqs = 7;
  TaskPin pin;
  pin.tensor = 2;
  pin.data = 4;
  pin.engine.cuda_graphs = false;
  pin.offload = Offload{true, false, false, false};
  TaskPlan expected = plan;
  expected.layout.tensor = 2;
  expected.layout.data = 4;
  expected.engine.cuda_graphs = false;
  expected.offload.weights = true;
  EXPECT_FALSE(agrees(pin, plan));
  EXPECT_FALSE(admits(pin, plan.layout));
  apply(pin, plan);
  EXPECT_EQ(plan, expected);
}

TEST(Pin, ThatFixesNothingAgreesWithAll) {
  TaskPlan plan;
  plan.mesh = {3, 1};
  EXPECT_TRUE(agrees(TaskPin{}, plan));
  EXPECT_TRUE(admits(TaskPin{}, plan.mesh));
}

/// Each member alone tells a plan that has it from one that has not.
TEST(Pin, EveryMemberCounts) {
  std::vector<TaskPin> pins(19);
  pins[0].mesh = cluster::Mesh{1, 1};
  pins[1].data = 2;
  pins[2].context = 2;
  pins[3].tensor = 2;
  pins[4].pipeline = 2;
  pins[5].virtual_stages = 2;
  pins[6].expert = 2;
  pins[7].expert_tensor = 2;
  pins[8].zero = 1;
  pins[9].sequence_parallel = true;
  pins[10].recomputation = llm::Recomputation::full;
  pins[11].stage_layers = std::vector<int>{4};
  pins[12].micro_batching = MicroBatching{0, 0, 3};
  pins[13].engine.memory_utilization = 0.5;
  pins[14].engine.max_num_seqs = 5;
  pins[15].engine.max_num_batched_tokens = 5;
  pins[16].engine.cuda_graphs = false;
  pins[17].engine.own_weights = false;
  pins[18].offload = Offload{false, false, false, true};
  for (std::size_t i = 0; i < pins.size(); ++i) {
    TaskPlan plan;
    EXPECT_FALSE(agrees(pins[i], plan)) << i;
    apply(pins[i], plan);
    EXPECT_TRUE(agrees(pins[i], plan)) << i;
    for (std::size_t j = 0; j < pins.size(); ++j) EXPECT_EQ(agrees(pins[j], plan), i == j) << i << " " << j;
  }
}

}  // namespace
}  // namespace dovetail::plan
