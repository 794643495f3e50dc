#include "plan/pin.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/jobs.h"
#include "support/other_value.h"

namespace dovetail::plan {
namespace {

template <class T>
void fix_sometimes(std::optional<T>& fixed, const T& value) {
  if (*rc::gen::arbitrary<bool>()) fixed = value;
}

template <class T>
base::Partial<T> random_part_of(const T& value) {
  base::Partial<T> part;
  base::for_each_field<T>([&](const auto& field) {
    if (*rc::gen::arbitrary<bool>()) part.set(field.member, value.*field.member);
  });
  return part;
}

/// Some members of `plan`.
TaskPin random_part_of(const TaskPlan& plan) {
  TaskPin pin;
  fix_sometimes(pin.mesh, plan.mesh);
  pin.layout = random_part_of(plan.layout);
  fix_sometimes(pin.micro_batching, plan.micro_batching);
  pin.engine = random_part_of(plan.engine);
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
  pin.layout.set(&llm::Layout::tensor, 2);
  pin.layout.set(&llm::Layout::data, 4);
  pin.engine.set(&Engine::cuda_graphs, false);
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

/// Pins that each fix one member of a `T`, to another value than its default.
template <class T>
std::vector<TaskPin> pins_of(base::Partial<T> TaskPin::* part) {
  std::vector<TaskPin> pins;
  base::for_each_field<T>([&](const auto& field) {
    pins.emplace_back();
    (pins.back().*part).set(field.member, dovetail::test::other_value(field.kind, T{}.*field.member));
  });
  return pins;
}

/// Each member alone tells a plan that has it from one that has not.
TEST(Pin, EveryMemberCounts) {
  std::vector<TaskPin> pins(3);
  pins[0].mesh = cluster::Mesh{1, 1};
  pins[1].micro_batching = MicroBatching{0, 0, 3};
  pins[2].offload = Offload{false, false, false, true};
  for (const TaskPin& pin : pins_of(&TaskPin::layout)) pins.push_back(pin);
  for (const TaskPin& pin : pins_of(&TaskPin::engine)) pins.push_back(pin);
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
