#include <algorithm>
#include <array>
#include <string_view>

#include "fuse/annealing/annealing.h"
#include "fuse/annealing/cooling.h"
#include "pipeline/problem/instances.h"

namespace dovetail::fuse {
namespace {

/// A cooling from `start` until it falls below `stop`, as FlexFusion's configurations say it.
AnnealingPass pass_between(double start, double stop, double cooling, AnnealingMove move, int runs) {
  std::int64_t iterations = 0;
  for (double temperature = start; temperature > stop; temperature *= cooling) ++iterations;
  return {start, cooling, iterations, move, runs};
}

struct PublishedPasses {
  std::string_view instance;
  double latency_start;  // 0: FlexFusion has no latency pass for it
  double latency_stop;
  double latency_cooling;
  double memory_start;
  double memory_stop;
  double memory_cooling;
  int memory_runs;
};

/// Source: FlexFusion, parallel_driver.cc, get_config_exp0 to get_config_exp11.
constexpr std::array<PublishedPasses, 12> published{{
    {"exp0", 10, 1e-12, .999995, 20, 1e-20, .999995, 4},
    {"exp1", 10, 1e-14, .999995, 10, 1e-20, .999995, 4},
    {"exp2", 0, 0, 0, 10, 1e-16, .999995, 1},
    {"exp3", 50, 1e-22, .999995, 20, 1e-26, .999995, 8},
    {"exp4", 10, 1e-22, .999995, 10, 1e-26, .999995, 8},
    {"exp5", 0, 0, 0, 10, 1e-16, .999995, 2},
    {"exp6", 200, 1e-16, .999997, 200, 1e-20, .999997, 16},
    {"exp7", 50, 1e-16, .999995, 50, 1e-20, .999995, 4},
    {"exp8", 50, 1e-16, .999995, 50, 1e-20, .999995, 4},
    {"exp9", 40, 1e-22, .999995, 200, 1e-20, .999995, 8},
    {"exp10", 20, 1e-20, .999995, 20, 1e-20, .999995, 4},
    {"exp11", 10, 1e-14, .999995, 10, 1e-16, .999995, 2},
}};

}  // namespace

std::optional<AnnealingParameters> published_parameters(const pipeline::Problem& problem) {
  for (const PublishedPasses& passes : published) {
    const pipeline::Instance* instance = pipeline::find_instance(passes.instance);
    if (!instance || instance->problem != problem) continue;
    return AnnealingParameters{pass_between(passes.latency_start, passes.latency_stop, passes.latency_cooling,
                                            AnnealingMove::adjacent_swap, 1),
                               pass_between(passes.memory_start, passes.memory_stop, passes.memory_cooling,
                                            AnnealingMove::move, passes.memory_runs)};
  }
  return std::nullopt;
}

AnnealingParameters fitted_parameters(const pipeline::Problem& problem, std::int64_t iterations) {
  std::int64_t longest = 1;
  std::int64_t largest = 1;
  for (const pipeline::Model& model : problem.models) {
    for (const base::Ticks time : model.backward) longest = std::max(longest, time.count());
    for (const base::Memory amount : model.activation) largest = std::max(largest, amount.count());
  }
  // Hot enough to take any single step back, cold enough at the end to take none: a loss of a ten-thousandth of an op.
  constexpr double range = 1e-4;
  const std::int64_t latency_iterations = std::max<std::int64_t>(1, iterations * 3 / 5);
  const std::int64_t memory_iterations = std::max<std::int64_t>(1, iterations - latency_iterations);
  const auto hottest = static_cast<double>(longest);
  const double heaviest = static_cast<double>(largest) / 1e6;
  return {{hottest, root_of(range, latency_iterations), latency_iterations, AnnealingMove::adjacent_swap, 1},
          {heaviest, root_of(range, memory_iterations), memory_iterations, AnnealingMove::move, 1}};
}

}  // namespace dovetail::fuse
