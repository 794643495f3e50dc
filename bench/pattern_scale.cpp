// Schedules of ever more micro-batches by a repeated pattern: the search costs the same, and the gap to the bound does not grow.
// Two models in opposite directions, as in the bundled instances scale64 and scale256. Exits with 1 where there is no pattern. Arguments:
// STAGES MICROBATCHES..., or none.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "fuse/bounds/bounds.h"
#include "fuse/pattern/pattern_search.h"
#include "parallel/for_each_index.h"
#include "pipeline/instances.h"

namespace {

using namespace dovetail;

/// The models of scale64 on that many stages, in opposite directions, with that many micro-batches each.
pipeline::Problem problem_of(int stages, int microbatches) {
  pipeline::Problem problem = pipeline::find_instance("scale64")->problem;
  const auto count = static_cast<std::size_t>(stages);
  problem.devices = stages;
  problem.resident.assign(count, base::Memory(0));
  bool upwards = false;
  for (pipeline::Model& model : problem.models) {
    model.microbatches = microbatches;
    for (auto* values : {&model.forward, &model.backward, &model.step}) values->assign(count, values->front());
    model.activation.assign(count, model.activation.front());
    for (auto* values : {&model.transfer_forward, &model.transfer_backward}) values->assign(count - 1, base::Ticks(0));
    model.replicas.assign(1, {});
    for (int stage = 0; stage < stages; ++stage) model.replicas[0].emplace_back(upwards ? stages - 1 - stage : stage);
    upwards = true;
  }
  return problem;
}

/// Prints one row; false where there is no pattern, or it is no schedule.
bool run(int stages, int microbatches) {
  const pipeline::Problem problem = problem_of(stages, microbatches);
  fuse::SolveOptions options;
  options.threads = parallel::default_thread_count();
  const auto begin = std::chrono::steady_clock::now();
  const auto found = fuse::search_pattern(problem, options);
  const double search = base::seconds_since(begin);
  const auto* pattern = std::get_if<fuse::PatternFound>(&found);
  if (!pattern) return false;
  const auto middle = std::chrono::steady_clock::now();
  const pipeline::Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  const auto evaluation = pipeline::evaluate(lowering.graph, fuse::expand_pattern(*pattern, problem, lowering));
  if (!evaluation.ok()) return false;
  const double expansion = base::seconds_since(middle);
  const std::int64_t makespan = evaluation.value().makespan.count();
  const std::int64_t bound = fuse::bounds_of(problem).makespan.count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{:>6} {:>13} {:>9} {:>8.2f} {:>10.2f} {:>9} {:>9} {:>5.2f}% {:>8} {:>8.2f}\n", stages, microbatches, lowering.graph.size(),
             search, expansion, makespan, bound, 100.0 * static_cast<double>(makespan - bound) / static_cast<double>(bound),
             base::format_memory(evaluation.value().peak_activation), static_cast<double>(usage.ru_maxrss) / (1024 * 1024));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  struct Row {
    int stages;
    int microbatches;
  };
  std::vector<Row> rows;
  for (int index = 2; index < argc; ++index) rows.push_back({std::atoi(argv[1]), std::atoi(argv[index])});
  if (rows.empty()) rows = {{64, 256}, {64, 1024}, {64, 4096}, {64, 16384}, {256, 1024}};
  fmt::print("{:>6} {:>13} {:>9} {:>8} {:>10} {:>9} {:>9} {:>6} {:>8} {:>8}\n", "stages", "micro-batches", "ops", "search s", "evaluate s",
             "makespan", "bound", "gap", "peak", "GiB used");
  for (const Row& row : rows) {
    const pipeline::Problem problem = problem_of(std::clamp(row.stages, 1, 1024), std::max(1, row.microbatches));
    if (row.stages < 1 || row.stages > 1024 || row.microbatches < 1 || pipeline::find_fault(problem)) {
      fmt::print(stderr, "{} stages, {} micro-batches: accepted are 1 to 1024 stages, and up to 16777216 ops in all\n", row.stages,
                 row.microbatches);
      return 2;
    }
    if (!run(row.stages, row.microbatches)) return 1;
  }
  return 0;
}
