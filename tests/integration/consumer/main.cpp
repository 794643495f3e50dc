// Includes the installed headers that an embedder is likely to need first, and schedules a problem built in code with
// each construction.
#include <dovetail/fuse/bounds/bounds.h>
#include <dovetail/fuse/solve.h>
#include <dovetail/parallel/exchange.h>
#include <dovetail/pipeline/problem/problem.h>

#include <cstdio>
#include <string>
#include <vector>

namespace base = dovetail::base;
namespace fuse = dovetail::fuse;
namespace pipeline = dovetail::pipeline;

namespace {

pipeline::Model model_on(std::string name, const std::vector<int>& devices, std::int64_t forward) {
  pipeline::Model model;
  model.name = std::move(name);
  model.microbatches = 4;
  model.replicas = {pipeline::device_list(devices)};
  model.forward = {base::Ticks(forward)};
  model.backward = {base::Ticks(2 * forward)};
  model.activation = {base::Memory(1'000'000)};
  return model;
}

/// Connects a group of one process by MPI if it is installed. Without MPI, the Error must say how to install it.
bool connects_or_says_why() {
  const auto exchange = dovetail::parallel::connect_by_mpi(30);
  if (!exchange.ok()) {
    std::printf("%s\n", to_text(exchange.error()).c_str());
    return exchange.error().message.find("MPI") != std::string::npos;
  }
  const auto messages = exchange->all_gather("hello");
  std::printf("MPI: rank %d of %d\n", exchange->rank, exchange->ranks);
  return messages.ok() && messages->size() == 1 && messages->front() == "hello";
}

}  // namespace

int main() {
  pipeline::Problem problem;
  problem.devices = 2;
  problem.models = {model_on("actor", {0, 1}, 2), model_on("critic", {1, 0}, 1)};
  problem = pipeline::with_defaults(problem);

  int schedules = 0;
  for (const fuse::Solver& solver : fuse::solvers()) {
    if (solver.searches) continue;
    const auto solved = fuse::solve(problem, solver.name);
    if (!solved.ok()) continue;
    const auto makespan = solved->solution.evaluation.makespan;
    if (makespan < solved->bounds.makespan) return 1;
    ++schedules;
    std::printf("%s: makespan %s, bound %s\n", solved->solution.solver.name.c_str(),
                base::format_time(makespan, problem.time_unit).c_str(),
                base::format_time(solved->bounds.makespan, problem.time_unit).c_str());
  }
  return schedules > 3 && connects_or_says_why() ? 0 : 1;
}
