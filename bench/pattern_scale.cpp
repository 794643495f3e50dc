// Builds schedules of increasing numbers of micro-batches from a repeated pattern. The search time stays constant, and
// the gap to the bound does not grow. Uses two models in opposite directions, as in the bundled instances scale64 and
// scale256. Exits with 1 if a size has no pattern. Arguments: STAGES MICROBATCHES..., or none.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "fuse/bounds/bounds.h"
#include "fuse/pattern/pattern.h"
#include "parallel/for_each_index.h"
#include "pipeline/problem/instances.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

/// Returns the models of scale64 in opposite directions, with this many stages and micro-batches each.
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

/// Returns a row of the table, or nullopt if there is no pattern or it is not a valid schedule.
std::optional<std::vector<std::string>> row_of(int stages, int microbatches, const pipeline::Problem& problem) {
  fuse::SolveOptions options;
  options.threads = parallel::default_thread_count();
  const auto begin = std::chrono::steady_clock::now();
  const auto found = fuse::search_pattern(problem, options);
  const double search = base::seconds_since(begin);
  const auto* pattern = std::get_if<fuse::PatternFound>(&found);
  if (!pattern) return std::nullopt;
  const auto middle = std::chrono::steady_clock::now();
  const pipeline::Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  const auto evaluation = pipeline::evaluate(lowering.graph, fuse::expand_pattern(*pattern, problem, lowering));
  if (!evaluation.ok()) return std::nullopt;
  const double expansion = base::seconds_since(middle);
  const base::Ticks makespan = evaluation->makespan;
  const base::Ticks bound = fuse::bounds_of(problem).makespan;
  return std::vector<std::string>{fmt::format("{}", stages),
                                  fmt::format("{}", microbatches),
                                  fmt::format("{}", lowering.graph.size()),
                                  fmt::format("{:.2f}", search),
                                  fmt::format("{:.2f}", expansion),
                                  base::format_time(makespan, problem.time_unit),
                                  base::format_time(bound, problem.time_unit),
                                  bench::gap_text(makespan.count(), bound.count()),
                                  base::format_memory(evaluation->peak_activation),
                                  bench::gibibytes_text(bench::resident_gibibytes())};
}

struct Size {
  int stages;
  int microbatches;
};

/// Returns whether every size has a pattern.
bool print_table(const std::vector<Size>& sizes) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [stages, microbatches] : sizes) {
    auto row = row_of(stages, microbatches, problem_of(stages, microbatches));
    bench::note(fmt::format("{} stages, {} micro-batches: {}", stages, microbatches, row ? (*row)[5] : "no pattern"));
    if (row) rows.push_back(std::move(*row));
  }
  const bool all = rows.size() == sizes.size();
  fmt::print("{}", report::render_table({{"stages"},
                                         {"micro-batches"},
                                         {"ops"},
                                         {"search s"},
                                         {"evaluate s"},
                                         {"makespan"},
                                         {"bound"},
                                         {"gap"},
                                         {"peak"},
                                         {"GiB used"}},
                                        rows));
  return all;
}

bool is_accepted(const Size& size) {
  return size.stages >= 1 && size.stages <= 1024 && size.microbatches >= 1 &&
         !pipeline::find_fault(problem_of(size.stages, size.microbatches));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Size> sizes;
  for (int index = 2; index < argc; ++index) sizes.push_back({std::atoi(argv[1]), std::atoi(argv[index])});
  if (sizes.empty()) sizes = {{64, 256}, {64, 1024}, {64, 4096}, {64, 16384}, {256, 1024}};
  for (const Size& size : sizes) {
    if (is_accepted(size)) continue;
    fmt::print(stderr, "{} stages, {} micro-batches: accepted are 1 to 1024 stages and at most 16777216 ops in total\n",
               size.stages, size.microbatches);
    return 2;
  }
  return print_table(sizes) ? 0 : 1;
}
