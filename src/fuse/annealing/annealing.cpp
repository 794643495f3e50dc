#include "fuse/annealing/annealing.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/stopwatch.h"
#include "fuse/constructions/constructions.h"
#include "parallel/for_each_index.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Lowering;
using pipeline::Problem;
using pipeline::StoppedBy;

/// One chain: a candidate, its best so far, and its own random numbers.
struct Walk {
  Walk(AnnealingState start, std::uint64_t seed, int index)
      : state(start), best(std::move(start)), random(seed, static_cast<std::uint64_t>(index)) {}

  AnnealingState state;
  AnnealingState best;
  base::Random random;
  double temperature = 0;
  std::int64_t iterations = 0;
  bool in_pass = true;  // has to do the run of a pass that is under way
};

enum class Goal { latency, memory };

/// One iteration of algorithm 1. In the latency pass what is lost is time; in the memory pass the sum of the devices'
/// peaks, and what is slower than the best so far is never taken.
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
    // A round of some tens of milliseconds, by size alone.
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
      options_.on_progress({goal == Goal::latency ? "latency" : "memory", best.makespan, best.peak, done_, planned_,
                            static_cast<double>(iterations) / seconds,
                            static_cast<double>(planned_ - done_) * seconds / static_cast<double>(done_)});
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
  std::int64_t planned_ = 0;  // iterations of a chain that does all passes
  std::int64_t round_ = 0;
  std::int64_t done_ = 0;
  std::optional<StoppedBy> stopped_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Iterations a chain by default: about ten seconds of two ordinary cores with the default chains, at 2.5 ns an op.
std::int64_t default_iterations(const Problem& problem) {
  return std::max<std::int64_t>(1'000, 2'000'000'000 / pipeline::count_ops(problem));
}

/// Iterations a chain that take somewhat less than `seconds` on this machine, from the speed of a short trial: a run
/// that has to be stopped by its time limit cannot be repeated by its iterations.
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
  const int chains_a_thread = (options.chains + options.threads - 1) / options.threads;
  const double speed = static_cast<double>(*trial.iterations) / spent;
  constexpr double margin = 0.8;
  return std::max<std::int64_t>(
      16, static_cast<std::int64_t>(margin * std::max(0.0, seconds - spent) * speed / chains_a_thread));
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
  if (!parameters) return NotApplicable{"no published experiment has this problem"};
  Solution solution = anneal(problem, *parameters, options);
  solution.solver.name = "annealing-published";
  return solution;
}

}  // namespace dovetail::fuse
