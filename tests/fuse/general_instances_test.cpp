// Properties of the bundled general problems and of searches on them.
#include <gtest/gtest.h>

#include <algorithm>

#include "fuse/constructions/constructions.h"
#include "pipeline/problem/instances.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using pipeline::Instance;
using pipeline::InstanceGroup;
using pipeline::Problem;

std::vector<const Instance*> general_instances() {
  std::vector<const Instance*> found;
  for (const Instance& instance : pipeline::instances())
    if (instance.group >= InstanceGroup::three_models) found.push_back(&instance);
  return found;
}

TEST(GeneralInstances, HaveATenthMoreMemoryThan1f1bNeeds) {
  for (const Instance* instance : general_instances()) {
    if (instance->group != InstanceGroup::capacity) continue;
    const Problem& problem = instance->problem;
    const Answer answer = solve_1f1b(problem, {});
    const pipeline::Evaluation& serial = std::get<Solution>(answer).evaluation;
    const bool uniform = *problem.capacity == std::vector(problem.capacity->size(), problem.capacity->front());
    for (std::size_t device = 0; device < problem.capacity->size(); ++device) {
      const Memory headroom = (*problem.capacity)[device] - problem.resident[device];
      const Memory peak = uniform ? serial.peak_activation : serial.devices[device].peak;
      EXPECT_EQ(headroom * 10, peak * 11) << instance->name << ", device " << device;
    }
  }
}

TEST(GeneralInstances, AreFeasibleWithinTheirCapacity) {
  for (const Instance* instance : general_instances()) {
    const Answer answer = solve_one_at_a_time(instance->problem, {});
    const auto& solution = std::get<Solution>(answer);
    EXPECT_TRUE(pipeline::find_excess(solution.problem, solution.evaluation, std::nullopt).empty()) << instance->name;
  }
}

TEST(GeneralInstances, AreNotSettledByAConstruction) {
  for (const Instance* instance : general_instances()) {
    const Bounds bounds = bounds_of(instance->problem);
    for (const auto solve :
         {solve_1f1b, solve_interleaved_1f1b, solve_zb_h1, solve_zb_h2, solve_zb_v, solve_fused_1f1b, solve_greedy}) {
      const Answer answer = solve(instance->problem, {});
      const auto* solution = std::get_if<Solution>(&answer);
      if (solution == nullptr || !pipeline::find_excess(solution->problem, solution->evaluation, std::nullopt).empty())
        continue;
      EXPECT_GT(solution->evaluation.makespan, bounds.makespan) << instance->name << ", " << solution->solver.name;
    }
  }
}

}  // namespace
}  // namespace dovetail::fuse
