#include "plan/pin.h"

namespace dovetail::plan {
namespace {

template <class T>
void put(const std::optional<T>& fixed, T& value) {
  if (fixed) value = *fixed;
}

}  // namespace

bool admits(const TaskPin& pin, const cluster::Mesh& mesh) { return !pin.mesh || *pin.mesh == mesh; }

bool admits(const TaskPin& pin, const llm::Layout& layout) {
  bool admitted = true;
  llm::for_each_degree([&](const auto& degree) {
    admitted = admitted && pin.layout.find(degree.member).value_or(layout.*degree.member) == layout.*degree.member;
  });
  return admitted;
}

bool agrees(const TaskPin& pin, const TaskPlan& plan) {
  TaskPlan with_pin = plan;
  apply(pin, with_pin);
  return with_pin == plan;
}

void apply(const TaskPin& pin, TaskPlan& plan) {
  put(pin.mesh, plan.mesh);
  pin.layout.apply_to(plan.layout);
  put(pin.micro_batching, plan.micro_batching);
  pin.engine.apply_to(plan.engine);
  put(pin.offload, plan.offload);
}

}  // namespace dovetail::plan
