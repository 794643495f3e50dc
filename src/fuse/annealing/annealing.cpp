#include "fuse/annealing/annealing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/stopwatch.h"
#include "fuse/annealing/cooling.h"
#include "fuse/constructions/constructions.h"
#include "parallel/for_each_index.h"
#include "pipeline/problem/instances.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Lowering;
using pipeline::Problem;
using pipeline::StoppedBy;

/// A pass that cools from `start` until the temperature is below `stop`, as specified in FlexFusion's configurations.
AnnealingPass pass_between(double start, double stop, double cooling, AnnealingMove move, int runs) {
  std::int64_t iterations = 0;
  for (double temperature = start; temperature > stop; temperature *= cooling) ++iterations;
  return {start, cooling, iterations, move, runs};
}

struct PublishedPasses {
  std::string_view instance;
  double latency_start;  // 0: FlexFusion has no latency pass for this instance
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
  // End temperature divided by start temperature. The start can reverse any single move. The end accepts only losses of
  // about a ten-thousandth of an op.
  constexpr double range = 1e-4;
  const std::int64_t latency_iterations = std::max<std::int64_t>(1, iterations * 3 / 5);
  const std::int64_t memory_iterations = std::max<std::int64_t>(1, iterations - latency_iterations);
  const auto hottest = static_cast<double>(longest);
  const double heaviest = static_cast<double>(largest) / 1e6;
  return {{hottest, root_of(range, latency_iterations), latency_iterations, AnnealingMove::adjacent_swap, 1},
          {heaviest, root_of(range, memory_iterations), memory_iterations, AnnealingMove::move, 1}};
}

namespace {

/// One chain: its current schedule, its best so far, and its random number stream.
struct Walk {
  Walk(AnnealingState start, std::uint64_t seed, int index)
      : state(start), best(std::move(start)), random(seed, static_cast<std::uint64_t>(index)) {}

  AnnealingState state;
  AnnealingState best;
  base::Random random;
  double temperature = 0;
  std::int64_t iterations = 0;
  bool in_pass = true;  // whether the chain still takes part in the current pass
};

enum class Goal { latency, memory };

/// One iteration of algorithm 1. The latency pass minimizes time. The memory pass minimizes the sum of the devices'
/// peaks and never accepts a schedule slower than the best so far.
void iterate(Walk& walk, const AnnealingPass& pass, Goal goal) {
  const AnnealingMetric before = walk.state.metric();
  if (walk.state.disturb(walk.random, pass.move)) {
    const AnnealingMetric& after = walk.state.metric();
    const double loss = goal == Goal::latency ? static_cast<double>((after.makespan - before.makespan).count())
                                              : static_cast<double>((after.peak_sum - before.peak_sum).count()) / 1e6;
    const bool allowed = goal == Goal::latency || after.makespan <= walk.best.metric().makespan;
    const bool accepted = allowed && (after < before || loss <= walk.temperature * walk.random.negative_log_unit());
    if (!accepted)
      walk.state.undo();
    else if (after < walk.best.metric())
      walk.best = walk.state;
  }
  walk.temperature *= pass.cooling;
  ++walk.iterations;
}

class Annealing {
 public:
  Annealing(const Problem& problem, const AnnealingParameters& parameters, const SolveOptions& options)
      : problem_(problem),
        parameters_(parameters),
        options_(options),
        lowering_(pipeline::lower(problem, pipeline::BackwardForm::whole)) {
    const Solution greedy = std::get<Solution>(solve_greedy(problem, options));
    const AnnealingState start(problem, lowering_, greedy.order);
    for (int chain = 0; chain < options.chains; ++chain) walks_.emplace_back(start, options.seed, chain);
    bound_ = bounds_of(problem).makespan;
    planned_ = parameters.latency.iterations + parameters.memory.runs * parameters.memory.iterations;
    if (options.iterations) planned_ = std::min(planned_, *options.iterations);
    // A round takes some tens of milliseconds. Its size depends only on the problem's size.
    round_ = std::max<std::int64_t>(1, 8'000'000 / static_cast<std::int64_t>(lowering_.graph.size()));
  }

  Solution run() && {
    run_pass(parameters_.latency, Goal::latency);
    std::vector<AnnealingState> fast;
    for (const Walk& walk : walks_) fast.push_back(walk.best);
    for (int run = 0; run < parameters_.memory.runs && !stopped_; ++run) {
      const Ticks fastest = best_walk().best.metric().makespan;
      peak_bound_ = peak_activation_bound(problem_, fastest);
      for (std::size_t index = 0; index < walks_.size(); ++index) {
        walks_[index].in_pass = walks_[index].best.metric().makespan == fastest;
        walks_[index].state = fast[index];
      }
      run_pass(parameters_.memory, Goal::memory);
    }
    return answer();
  }

 private:
  const Walk& best_walk() const {
    return *std::min_element(walks_.begin(), walks_.end(),
                             [](const Walk& a, const Walk& b) { return a.best.metric() < b.best.metric(); });
  }

  bool bound_met(Goal goal) const {
    const AnnealingMetric& best = best_walk().best.metric();
    return best.makespan == bound_ && (goal == Goal::latency || best.peak == peak_bound_);
  }

  void run_pass(const AnnealingPass& pass, Goal goal) {
    for (Walk& walk : walks_) walk.temperature = pass.start_temperature;
    std::int64_t in_pass = pass.iterations;
    while (in_pass > 0 && !bound_met(goal) && !stopped_) {
      std::int64_t steps = std::min(round_, in_pass);
      if (options_.iterations) steps = std::min(steps, *options_.iterations - done_);
      parallel::for_each_index(options_.chains, options_.threads, [&](int index) {
        Walk& walk = walks_[static_cast<std::size_t>(index)];
        for (std::int64_t step = 0; step < steps && walk.in_pass; ++step) iterate(walk, pass, goal);
      });
      in_pass -= steps;
      done_ += steps;
      end_round(goal);
    }
  }

  void end_round(Goal goal) {
    const double seconds = base::seconds_since(begin_);
    if (options_.on_progress) {
      std::int64_t iterations = 0;
      for (const Walk& walk : walks_) iterations += walk.iterations;
      const AnnealingMetric& best = best_walk().best.metric();
      const double seconds_left = static_cast<double>(planned_ - done_) * seconds / static_cast<double>(done_);
      options_.on_progress({goal == Goal::latency ? "latency" : "memory", best.makespan, best.peak, done_, planned_,
                            static_cast<double>(iterations) / seconds,
                            limit_seconds_left(options_, seconds_left, seconds)});
    }
    if (options_.cancellation && options_.cancellation->requested())
      stopped_ = StoppedBy::interrupt;
    else if (options_.time_limit_seconds && seconds >= *options_.time_limit_seconds)
      stopped_ = StoppedBy::time;
    else if (options_.iterations && done_ >= *options_.iterations)
      stopped_ = StoppedBy::iterations;
  }

  Solution answer() {
    pipeline::Order order = best_walk().best.order(lowering_);
    auto evaluation = pipeline::evaluate(lowering_.graph, order);
    Solution solution{problem_, {}, std::move(lowering_.graph), std::move(order), std::move(evaluation).value(),
                      {},       {}};
    solution.solver = {"annealing", options_.seed, options_.chains, planned_};
    const bool met =
        solution.evaluation.makespan == bound_ &&
        solution.evaluation.peak_activation == peak_activation_bound(problem_, solution.evaluation.makespan);
    solution.stopped_by = met ? StoppedBy::bound : stopped_.value_or(StoppedBy::iterations);
    return solution;
  }

  const Problem& problem_;
  const AnnealingParameters& parameters_;
  const SolveOptions& options_;
  Lowering lowering_;
  std::vector<Walk> walks_;
  Ticks bound_;
  Memory peak_bound_;
  std::int64_t planned_ = 0;  // iterations of a chain that runs all passes
  std::int64_t round_ = 0;
  std::int64_t done_ = 0;
  std::optional<StoppedBy> stopped_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Default iterations per chain: about ten seconds on two ordinary cores with the default number of chains, at 2.5 ns
/// per op.
std::int64_t default_iterations(const Problem& problem) {
  return std::max<std::int64_t>(1'000, 2'000'000'000 / pipeline::count_ops(problem));
}

/// Iterations per chain that take slightly less than `seconds` on this machine, estimated from a short trial. A run
/// that its time limit stops cannot be reproduced from its iterations.
std::int64_t iterations_in(const Problem& problem, const SolveOptions& options, double seconds) {
  SolveOptions trial = options;
  trial.chains = 1;
  trial.threads = 1;
  trial.time_limit_seconds.reset();
  trial.on_progress = nullptr;
  trial.iterations = std::max<std::int64_t>(1, 10'000'000 / pipeline::count_ops(problem));
  AnnealingParameters parameters = fitted_parameters(problem, *trial.iterations);
  const auto begin = std::chrono::steady_clock::now();
  anneal(problem, parameters, trial);
  const double spent = base::seconds_since(begin);
  const int chains_per_thread = (options.chains + options.threads - 1) / options.threads;
  const double speed = static_cast<double>(*trial.iterations) / spent;
  constexpr double margin = 0.8;
  return std::max<std::int64_t>(
      16, static_cast<std::int64_t>(margin * std::max(0.0, seconds - spent) * speed / chains_per_thread));
}

}  // namespace

Solution anneal(const Problem& problem, const AnnealingParameters& parameters, const SolveOptions& options) {
  return Annealing(problem, parameters, options).run();
}

Answer solve_annealing(const Problem& problem, const SolveOptions& options) {
  if (auto why = why_not_annealed(problem)) return NotApplicable{std::move(*why)};
  SolveOptions settled = options;
  const auto begin = std::chrono::steady_clock::now();
  if (!settled.iterations)
    settled.iterations = options.time_limit_seconds ? iterations_in(problem, options, *options.time_limit_seconds)
                                                    : default_iterations(problem);
  if (options.time_limit_seconds)
    settled.time_limit_seconds = std::max(0.0, *options.time_limit_seconds - base::seconds_since(begin));
  return anneal(problem, fitted_parameters(problem, *settled.iterations), settled);
}

Answer solve_annealing_published(const Problem& problem, const SolveOptions& options) {
  if (auto why = why_not_annealed(problem)) return NotApplicable{std::move(*why)};
  const auto parameters = published_parameters(problem);
  if (!parameters) return NotApplicable{"no published experiment uses this problem"};
  Solution solution = anneal(problem, *parameters, options);
  solution.solver.name = "annealing-published";
  return solution;
}

}  // namespace dovetail::fuse
