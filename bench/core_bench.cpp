// Speed of the functions that every search and command depends on. Run: build/release/bin/dovetail_bench
#include <benchmark/benchmark.h>

#include "fuse/annealing/annealing_state.h"
#include "fuse/bounds/bounds.h"
#include "fuse/constructions/constructions.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/validate.h"

namespace {

using namespace dovetail;

const pipeline::Problem& problem(const char* name) { return pipeline::find_instance(name)->problem; }

void count_ops(benchmark::State& state, const char* name) {
  state.SetItemsProcessed(state.iterations() * pipeline::count_ops(problem(name)));
}

void BM_Lower(benchmark::State& state, const char* name) {
  for (auto _ : state) benchmark::DoNotOptimize(pipeline::lower(problem(name), pipeline::BackwardForm::whole));
  count_ops(state, name);
}

void BM_Evaluate(benchmark::State& state, const char* name) {
  const fuse::Answer answer = fuse::solve_fused_1f1b(problem(name), {});
  const auto& solution = std::get<fuse::Solution>(answer);
  for (auto _ : state) benchmark::DoNotOptimize(pipeline::evaluate(solution.graph, solution.order));
  count_ops(state, name);
}

void BM_Validate(benchmark::State& state, const char* name) {
  const fuse::Answer answer = fuse::solve_fused_1f1b(problem(name), {});
  const auto& solution = std::get<fuse::Solution>(answer);
  const pipeline::Schedule schedule = pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
  for (auto _ : state) benchmark::DoNotOptimize(pipeline::validate(schedule));
  count_ops(state, name);
}

void BM_Bounds(benchmark::State& state, const char* name) {
  for (auto _ : state) benchmark::DoNotOptimize(fuse::bounds_of(problem(name)));
  count_ops(state, name);
}

void BM_Fused1f1b(benchmark::State& state, const char* name) {
  for (auto _ : state) benchmark::DoNotOptimize(fuse::solve_fused_1f1b(problem(name), {}));
  count_ops(state, name);
}

void BM_Greedy(benchmark::State& state, const char* name) {
  for (auto _ : state) benchmark::DoNotOptimize(fuse::solve_greedy(problem(name), {}));
  count_ops(state, name);
}

void BM_WriteSchedule(benchmark::State& state, const char* name) {
  const fuse::Answer answer = fuse::solve_fused_1f1b(problem(name), {});
  const auto& solution = std::get<fuse::Solution>(answer);
  const pipeline::Schedule schedule = pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
  for (auto _ : state) benchmark::DoNotOptimize(pipeline::schedule_to_json(schedule));
  count_ops(state, name);
}

/// Evaluates one neighbor of the published annealing from scratch. An item is a neighbor.
void BM_AnnealingNeighbour(benchmark::State& state, const char* name) {
  const pipeline::Lowering lowering = pipeline::lower(problem(name), pipeline::BackwardForm::whole);
  const fuse::Answer answer = fuse::solve_greedy(problem(name), {});
  fuse::AnnealingState annealing(problem(name), lowering, std::get<fuse::Solution>(answer).order);
  base::Random random(1, 0);
  for (auto _ : state)
    if (annealing.disturb(random, fuse::AnnealingMove::adjacent_swap)) annealing.undo();
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(BM_Lower, scale64, "scale64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Evaluate, exp9, "exp9")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Evaluate, scale64, "scale64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Validate, scale64, "scale64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Bounds, scale64, "scale64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Fused1f1b, scale64, "scale64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Greedy, scale64, "scale64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_WriteSchedule, scale64, "scale64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_AnnealingNeighbour, exp0, "exp0")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_AnnealingNeighbour, exp9, "exp9")->Unit(benchmark::kMicrosecond);

}  // namespace
