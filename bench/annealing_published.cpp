// Runs the annealing baseline with its published parameters on the instances for which a few seeds are known to reach
// the latency bound. Prints a table and exits with 1 if an instance misses the bound. Run:
// build/release/bin/annealing_published [INSTANCE ...]
#include <fmt/core.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "fuse/annealing/annealing.h"
#include "parallel/for_each_index.h"
#include "pipeline/problem/instances.h"

using namespace dovetail;

namespace {

struct Row {
  bool met = false;
  std::string text;
};

/// Runs the latency pass alone on four seeds until one of them meets the bound.
Row run(const pipeline::Instance& instance) {
  fuse::AnnealingParameters parameters = *fuse::published_parameters(instance.problem);
  parameters.memory.iterations = 0;
  fuse::SolveOptions options;
  options.chains = 4;
  options.threads = parallel::default_thread_count();
  fuse::Progress last;
  options.on_progress = [&](const fuse::Progress& progress) { last = progress; };
  const auto begin = std::chrono::steady_clock::now();
  const fuse::Solution solution = fuse::anneal(instance.problem, parameters, options);
  const double seconds = base::seconds_since(begin);
  const base::Ticks bound = instance.published->bound;
  return {solution.evaluation.makespan == bound,
          fmt::format("{:<8} {:>6} {:>9} {:>12} {:>12} {:>8.1f} {:>14.0f}", instance.name, bound.count(),
                      solution.evaluation.makespan.count(), last.iterations, parameters.latency.iterations, seconds,
                      last.iterations_per_second)};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = {"exp0", "exp1", "exp4", "exp11"};
  fmt::print("{:<8} {:>6} {:>9} {:>12} {:>12} {:>8} {:>14}\n", "instance", "bound", "makespan", "iterations", "of",
             "seconds", "evaluations/s");
  bool all_met = true;
  for (const std::string& name : names) {
    const pipeline::Instance* instance = pipeline::find_instance(name);
    if (!instance || !fuse::published_parameters(instance->problem)) {
      fmt::print(stderr, "{}: no published experiment for this instance\n", name);
      return 2;
    }
    const Row row = run(*instance);
    fmt::print("{}\n", row.text);
    all_met &= row.met;
  }
  return all_met ? 0 : 1;
}
