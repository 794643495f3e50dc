// Builds a problem in code, schedules it with the first construction that applies, and prints its makespan.
#include <dovetail/fuse/bounds.h>
#include <dovetail/fuse/solver.h>
#include <dovetail/pipeline/problem.h>
#include <dovetail/pipeline/validate.h>

#include <cstdio>
#include <string>
#include <variant>

namespace base = dovetail::base;
namespace fuse = dovetail::fuse;
namespace pipeline = dovetail::pipeline;

namespace {

pipeline::Model model_on(std::string name, std::vector<std::int32_t> devices, std::int64_t forward) {
  const std::size_t stages = devices.size();
  pipeline::Model model;
  model.name = std::move(name);
  model.microbatches = 4;
  model.replicas.emplace_back();
  for (const std::int32_t device : devices) model.replicas.front().emplace_back(device);
  model.forward.assign(stages, base::Ticks(forward));
  model.backward.assign(stages, base::Ticks(2 * forward));
  model.activation.assign(stages, base::Memory(1'000'000));
  model.transfer_forward.assign(stages - 1, base::Ticks(0));
  model.transfer_backward.assign(stages - 1, base::Ticks(0));
  model.step.assign(stages, base::Ticks(0));
  return model;
}

}  // namespace

int main() {
  pipeline::Problem problem;
  problem.devices = 2;
  problem.resident.assign(2, base::Memory(0));
  problem.models = {model_on("actor", {0, 1}, 2), model_on("critic", {1, 0}, 1)};
  if (const auto fault = pipeline::find_fault(problem)) {
    std::printf("not a problem: %s\n", fault->c_str());
    return 1;
  }

  const fuse::Bounds bounds = fuse::bounds_of(problem);
  for (const fuse::Solver& solver : fuse::solvers()) {
    if (solver.searches) continue;
    const fuse::Answer answer = solver.solve(problem, {});
    const auto* solution = std::get_if<fuse::Solution>(&answer);
    if (solution == nullptr) continue;
    if (pipeline::validate(fuse::to_schedule(*solution, bounds)).has_value()) return 1;
    const std::string name(solver.name);
    std::printf("%s: makespan %lld, bound %lld\n", name.c_str(), static_cast<long long>(solution->evaluation.makespan.count()),
                static_cast<long long>(bounds.makespan.count()));
    return solution->evaluation.makespan >= bounds.makespan ? 0 : 1;
  }
  return 1;
}
