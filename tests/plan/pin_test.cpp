#include "plan/pin.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "llm/bundled_models.h"
#include "plan/jobs.h"
#include "support/other_value.h"

namespace dovetail::plan {
namespace {

using llm::Layout;

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

/// Random members of `plan`, as a pin.
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

RC_GTEST_PROP(Pin, AgreesWithThePlanItWasTakenFrom, ()) {
  const TwoPlans plans = random_plans();
  const TaskPin pin = random_part_of(plans.one);
  RC_ASSERT(agrees(pin, plans.one));
  RC_ASSERT(admits(pin, plans.one.mesh) && admits(pin, plans.one.layout));
}

RC_GTEST_PROP(Pin, AgreesWithAPlanAfterApply, ()) {
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

TEST(Pin, KeepsSettingsThatAreNotFixed) {
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

TEST(Pin, WithoutSettingsAgreesWithEveryPlan) {
  TaskPlan plan;
  plan.mesh = {3, 1};
  EXPECT_TRUE(agrees(TaskPin{}, plan));
  EXPECT_TRUE(admits(TaskPin{}, plan.mesh));
}

/// Pins that each fix one member of a `T` to a value other than its default.
template <class T>
std::vector<TaskPin> pins_of(base::Partial<T> TaskPin::* part) {
  std::vector<TaskPin> pins;
  base::for_each_field<T>([&](const auto& field) {
    pins.emplace_back();
    (pins.back().*part).set(field.member, dovetail::test::other_value(field.kind, T{}.*field.member));
  });
  return pins;
}

/// Each member alone distinguishes a plan that has it from one that does not.
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

/// Whether some layout for `devices` has the fixed members, by trying all layouts with degrees as in the pins below.
bool has_layout(const TaskPin& pin, const llm::Transformer& model, int devices) {
  for (int data = 1; data <= devices; ++data)
    for (int context = 1; context <= devices / data; ++context)
      for (int tensor = 1; tensor <= devices / data / context; ++tensor) {
        const int pipeline = devices / data / context / tensor;
        if (data * context * tensor * pipeline != devices) continue;
        for (int extra = 0; extra < 64; ++extra) {
          TaskPlan plan;
          plan.layout = test::layout_of(data, tensor, pipeline);
          plan.layout.context = context;
          plan.layout.expert = extra % 4 + 1;
          plan.layout.expert_tensor = extra / 4 % 4 + 1;
          plan.layout.virtual_stages = extra / 16 + 1;
          plan.layout.stage_layers = pin.layout.or_defaults().stage_layers;
          if (admits(pin, plan.layout) && !llm::find_fault(plan.layout, model)) return true;
        }
      }
  return false;
}

bool has_plan(const TaskPin& pin, const llm::Transformer& model, const cluster::Cluster& cluster) {
  const int devices = cluster::device_count(cluster);
  std::vector<bool> sizes(static_cast<std::size_t>(devices) + 1);
  for (int first = 0; first < devices; ++first)
    for (int count = 1; count <= devices - first; ++count)
      if (admits(pin, cluster::Mesh{first, count}) &&
          (pin.mesh ? cluster::is_usable(cluster, {first, count}) : cluster::is_sound(cluster, {first, count})))
        sizes[static_cast<std::size_t>(count)] = true;
  for (int size = 1; size <= devices; ++size)
    if (sizes[static_cast<std::size_t>(size)] && has_layout(pin, model, size)) return true;
  return false;
}

/// Pins with few members, so that about half of them are possible.
TaskPin random_pin(const llm::Transformer& model, const cluster::Cluster& cluster) {
  TaskPin pin;
  llm::for_each_degree([&pin](const auto& degree) {
    if (*rc::gen::inRange(0, 5) == 0) pin.layout.set(degree.member, *rc::gen::element(1, 1, 2, 2, 3, 4));
  });
  const int devices = cluster::device_count(cluster);
  if (*rc::gen::inRange(0, 3) == 0) pin.mesh = *rc::gen::elementOf(cluster::meshes_of(cluster));
  if (*rc::gen::inRange(0, 8) == 0)
    pin.mesh = cluster::Mesh{*rc::gen::inRange(0, devices), *rc::gen::inRange(1, devices + 1)};
  if (*rc::gen::inRange(0, 5) > 0) return pin;
  auto layers = *rc::gen::nonEmpty(rc::gen::resize(3, rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4))));
  const int sum = std::accumulate(layers.begin(), layers.end(), 0);
  if (sum < model.layers) layers.back() += static_cast<int>(model.layers) - sum;
  pin.layout.set(&Layout::stage_layers, layers);
  return pin;
}

RC_GTEST_PROP(FindPinFault, IsFoundIffNoPlanHasThePin, ()) {
  const cluster::Cluster cluster = cluster::test::cluster_of(
      *rc::gen::nonEmpty(rc::gen::resize(3, rc::gen::container<std::vector<int>>(rc::gen::element(1, 2, 3, 4, 4, 8)))));
  const llm::Transformer model = *llm::test::random_transformer();
  const TaskPin pin = random_pin(model, cluster);
  const auto fault = find_fault(pin, model, cluster);
  const bool possible = has_plan(pin, model, cluster);
  RC_CLASSIFY(possible);
  if (fault.has_value() == possible) RC_FAIL(fault.value_or("no fault"));
}

std::string fault_of(const TaskPin& pin, const std::string& model = "llama-2-7b", int nodes = 2) {
  return find_fault(pin, llm::find_bundled_model(model).value(), cluster::test::equal_nodes(nodes, 8)).value_or("none");
}

TEST(FindPinFault, ReportsMeshes) {
  TaskPin pin;
  pin.mesh = cluster::Mesh{4, 8};
  EXPECT_EQ(
      fault_of(pin),
      "its devices 4 to 11 are not a mesh of the cluster's 16 devices; accepted: devices of one node, or whole nodes, "
      "optionally with part of the node before or after them");
  pin.mesh = cluster::Mesh{8, 16};
  EXPECT_EQ(
      fault_of(pin),
      "its devices 8 to 23 are not a mesh of the cluster's 16 devices; accepted: devices of one node, or whole nodes, "
      "optionally with part of the node before or after them");
  // meshes_of does not list these, but a plan may have them.
  for (const cluster::Mesh mesh : {cluster::Mesh{1, 2}, cluster::Mesh{0, 12}, cluster::Mesh{4, 12}}) {
    pin.mesh = mesh;
    EXPECT_EQ(fault_of(pin), "none") << mesh.first;
  }
}

TEST(FindPinFault, ReportsDegrees) {
  TaskPin pin;
  pin.layout.set(&Layout::tensor, 8);
  pin.mesh = cluster::Mesh{0, 4};
  EXPECT_EQ(fault_of(pin),
            "no layout of llama-2-7b with tp 8 uses the 4 devices of its mesh; accepted: dp x tp x pp x cp that equals "
            "this device count, and ep x etp that divides dp x cp x tp");
  pin.mesh = cluster::Mesh{0, 8};
  EXPECT_EQ(fault_of(pin), "none");
  pin.layout.set(&Layout::data, 2);
  EXPECT_EQ(fault_of(pin),
            "no layout of llama-2-7b with dp 2, tp 8 uses the 8 devices of its mesh; accepted: dp x tp x pp x cp that "
            "equals this device count, and ep x etp that divides dp x cp x tp");
  pin.mesh.reset();
  EXPECT_EQ(fault_of(pin), "none");
  pin.layout.set(&Layout::pipeline, 2);
  EXPECT_EQ(fault_of(pin, "llama-2-7b", 4), "none");
  EXPECT_EQ(fault_of(pin),
            "no mesh of the cluster's 16 devices has a layout of llama-2-7b with dp 2, tp 8, pp 2; accepted: degrees "
            "whose product is at most the number of devices in a node, or equals the number in several whole nodes");
  pin.layout.set(&Layout::tensor, 3);
  EXPECT_EQ(fault_of(pin),
            "32 heads of llama-2-7b cannot be divided evenly among 3 tensor-parallel ranks; accepted: a divisor of 32");
}

TEST(FindPinFault, ReportsStagesAndExperts) {
  TaskPin stages;
  stages.layout.set(&Layout::virtual_stages, 2);
  EXPECT_EQ(fault_of(stages), "none") << "possible with a pipeline";
  stages.layout.set(&Layout::pipeline, 1);
  EXPECT_EQ(fault_of(stages), "virtual stages need a pipeline; accepted: vpp 1, or pp of at least 2");
  TaskPin layers;
  layers.layout.set(&Layout::stage_layers, {20, 12});
  EXPECT_EQ(fault_of(layers), "none");
  layers.layout.set(&Layout::pipeline, 4);
  EXPECT_EQ(fault_of(layers), "stage_layers has 2 values; accepted: one for each of 4 stages");
  layers = {};
  layers.layout.set(&Layout::stage_layers, {20, 13});
  EXPECT_EQ(fault_of(layers), "stage_layers add up to 33; accepted: the 32 layers of llama-2-7b");
  TaskPin experts;
  experts.layout.set(&Layout::expert, 8);
  EXPECT_EQ(fault_of(experts), "the model has no experts for expert parallelism; accepted: ep 1 and etp 1");
  EXPECT_EQ(fault_of(experts, "mixtral-8x7b"), "none");
  experts.mesh = cluster::Mesh{0, 4};
  EXPECT_EQ(fault_of(experts, "mixtral-8x7b"),
            "no layout of mixtral-8x7b with ep 8 uses the 4 devices of its mesh; accepted: dp x tp x pp x cp that "
            "equals this device count, and ep x etp that divides dp x cp x tp");
}

TEST(FindPinFault, ReportsSettings) {
  TaskPin pin;
  pin.micro_batching = MicroBatching{1, 0, 1};
  EXPECT_EQ(
      fault_of(pin),
      "its micro-batches have no size or several sizes; accepted: one of sequences, tokens and count, greater than 0");
  pin.micro_batching.reset();
  pin.engine.set(&Engine::memory_utilization, 0);
  EXPECT_EQ(fault_of(pin), "its engine's memory_utilization is 0; accepted: 0.01 to 1");
}

TEST(FindPinFault, AcceptsDegreesBeyondAnyCluster) {
  TaskPin pin;
  for (const auto degree :
       {&Layout::data, &Layout::context, &Layout::pipeline, &Layout::expert, &Layout::expert_tensor})
    pin.layout.set(degree, 65'536);
  EXPECT_NE(fault_of(pin, "mixtral-8x7b"), "none");
}

}  // namespace
}  // namespace dovetail::plan
