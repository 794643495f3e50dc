#include "fuse/portfolio.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "fuse/constructions/building_blocks.h"
#include "fuse/constructions/constructions.h"
#include "fuse/exact/exact.h"
#include "fuse/pattern/pattern.h"
#include "fuse/search/search.h"
#include "fuse/search/stop_request.h"
#include "fuse/solver.h"

namespace dovetail::fuse {
namespace {

using pipeline::Problem;
using pipeline::StoppedBy;

}  // namespace

int count_minibatches(const pipeline::Problem& problem) {
  int count = 0;
  for (const pipeline::Model& model : problem.models) count = std::max(count, model.minibatches);
  return count;
}

pipeline::Problem only_minibatch(const pipeline::Problem& problem, int index) {
  pipeline::Problem alone = problem;
  std::erase_if(alone.models, [index](const pipeline::Model& model) { return model.minibatches <= index; });
  for (pipeline::Model& model : alone.models) model.minibatches = 1;
  return alone;
}

pipeline::Order join_minibatches(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                 const std::vector<Solution>& parts) {
  std::vector<ModelOrder> after;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    std::vector<std::int32_t> models;  // [model of the single mini-batch's problem] index in the problem
    for (std::size_t model = 0; model < problem.models.size(); ++model)
      if (std::cmp_less(part, problem.models[model].minibatches)) models.push_back(static_cast<std::int32_t>(model));
    after.push_back({&parts[part], std::move(models)});
  }
  return search_order(lowering, after);
}

namespace {

/// Above this many ops only the constructions and the pattern run: a walk could not cover enough of the schedule.
constexpr std::int64_t max_ops_to_search = 200'000;
/// Iterations per op for a single mini-batch, and their maximum. They take about a second and are chosen without a
/// clock, so that a rerun with the recorded iterations reproduces the result.
constexpr std::int64_t iterations_per_op = 3'000;
constexpr std::int64_t max_iterations_alone = 1'000'000;
/// Time limit of each pattern. A pattern converts it to an amount of work and never reads a clock.
constexpr double seconds_per_pattern = 1;
/// Up to this many ops, an optimum is often proven in a second. Larger problems are rarely proven.
constexpr std::int64_t max_ops_to_prove = 48;

class Portfolio {
 public:
  Portfolio(const Problem& problem, const SolveOptions& options)
      : problem_(problem), options_(options), stop_(options), bounds_(bounds_of(problem)) {}

  Solution run() {
    if (options_.start) {
      improve(*options_.start);
      starts_.push_back(*options_.start);
    }
    try_solver(solve_one_at_a_time);
    DOVETAIL_ASSERT(best_.has_value());  // it applies to every problem
    for (const Solver& solver : direct_solvers())
      if (solver.solve != solve_one_at_a_time && !is_left_out(solver) && !stop_.poll() && !is_too_late())
        try_solver(solver.solve);
    if (!stop_.poll() && !is_met() && !options_.brief) try_patterns_within();
    if (!stop_.poll() && !is_met()) fuse_minibatches_alone();
    if (!stop_.poll() && !is_met()) prove();
    if (!stop_.poll() && !is_met() && !starts_.empty()) search();
    if (stop_.is_requested()) best_->stopped_by = StoppedBy::interrupt;
    if (stop_.lost()) best_->lost_process = stop_.lost();
    raise_makespan_bound();
    return std::move(*best_);
  }

 private:
  /// A brief search skips the pattern of the whole problem: it already has patterns of each mini-batch.
  bool is_left_out(const Solver& solver) const {
    return options_.brief && solver.solve == solve_pattern && count_minibatches(problem_) > 1;
  }

  /// Whether the remaining constructions are skipped: for large problems, once the time limit has passed.
  bool is_too_late() const { return !are_quick(problem_) && stop_.is_late(begin_); }

  /// Keeps `solution` if it is better.
  void improve(Solution solution) {
    if (best_ && !is_better(solution, *best_, options_)) return;
    best_ = std::move(solution);
    if (options_.on_better) options_.on_better(*best_);
  }

  void try_solver(Answer (*solve)(const Problem&, const SolveOptions&)) {
    SolveOptions options = options_;
    // Results of a time-limited pattern cannot be reproduced from the recorded iterations. Only large problems need the
    // limit.
    if (are_quick(problem_)) options.time_limit_seconds.reset();
    Answer answer = NotApplicable{};
    // The first solver is too fast to interrupt, and one result is required.
    if (!stop_.completes([&] { answer = solve(problem_, options); }) && best_) return;
    auto* solution = std::get_if<Solution>(&answer);
    if (!solution || solution->other_layout) return;
    improve(*solution);
    if (static_cast<std::int64_t>(solution->graph.size()) <= max_ops_to_search) starts_.push_back(std::move(*solution));
  }

  /// Adds patterns made for slightly less memory as starts. Tight capacities leave walks little freedom, so the result
  /// depends on the start.
  void try_patterns_within() {
    if ((!problem_.capacity && !options_.memory_cap) || !are_quick(problem_)) return;
    SolveOptions options = options_;
    options.time_limit_seconds = seconds_per_pattern;
    std::vector<Solution> patterns;
    if (!stop_.completes([&] { patterns = solve_patterns_within(problem_, options); })) return;
    for (Solution& pattern : patterns) {
      improve(pattern);
      starts_.push_back(std::move(pattern));
    }
  }

  /// Schedules each mini-batch alone and concatenates the results. The search can improve on this only by letting
  /// models be in different mini-batches at the same time.
  void fuse_minibatches_alone() {
    const int count = count_minibatches(problem_);
    if (count < 2 || pipeline::count_ops(problem_) > max_ops_to_search) return;
    SolveOptions options;
    options.seed = options_.seed;
    options.threads = options_.threads;
    options.memory_cap = options_.memory_cap;
    options.cancellation = options_.cancellation;
    options.proof_work = 0;
    options.brief = options_.brief;
    std::vector<Solution> parts;
    for (int index = 0; index < count; ++index) {
      Problem part = only_minibatch(problem_, index);
      const std::int64_t usual = std::min(max_iterations_alone, iterations_per_op * pipeline::count_ops(part));
      options.iterations = options_.iterations_alone.value_or(usual);
      if (!parts.empty() && parts.back().problem == part)
        parts.push_back(parts.back());
      else if (!stop_.completes([&] { parts.push_back(Portfolio(part, options).run()); }))
        return;
    }
    pipeline::Lowering lowering = pipeline::lower(problem_, pipeline::BackwardForm::split);
    pipeline::Order order = join_minibatches(problem_, lowering, parts);
    auto joined = std::get<Solution>(construction_answer("auto", problem_, std::move(lowering), std::move(order)));
    starts_.push_back(joined);
    improve(std::move(joined));
  }

  /// Whether no schedule can be better, so that there is nothing to search for.
  bool is_met() const {
    if (is_proven_) return true;
    if (options_.robustness_percent > 0 ||
        !pipeline::find_excess(problem_, best_->evaluation, options_.memory_cap).empty())
      return false;
    const base::Ticks makespan = best_->evaluation.makespan;
    const base::Memory peak = best_->evaluation.peak_activation;
    if (options_.objective == Objective::memory && !options_.deadline)
      return makespan == bounds_.makespan && peak == bounds_.peak_activation;
    const base::Ticks goal = std::max(bounds_.makespan, options_.deadline.value_or(base::Ticks(0)));
    return makespan <= goal && peak == peak_activation_bound(problem_, goal, {.work = 0});
  }

  /// Runs the exact search on small problems, for as long as it is fast.
  void prove() {
    if (options_.robustness_percent > 0 || pipeline::count_ops(problem_) > max_ops_to_prove) return;
    SolveOptions options = options_;
    options.start = &*best_;
    options.on_progress = nullptr;
    ExactResult result;
    if (!stop_.completes([&] { result = solve_exactly(problem_, options, limits_for(options, 1'000'000)); }) ||
        !result.solution)
      return;
    best_ = std::move(*result.solution);
    starts_.push_back(*best_);
    is_proven_ = result.makespan_proven && result.peak_proven;
  }

  /// Proves a better makespan bound for schedules that fit, if the makespan is above the simple bounds.
  void raise_makespan_bound() {
    if (is_proven_ || stop_.is_requested() || best_->evaluation.makespan == bounds_.makespan) return;
    if (options_.objective != Objective::makespan || options_.deadline ||
        pipeline::count_ops(problem_) > max_ops_to_search)
      return;
    BoundOptions proof;
    proof.work = options_.proof_work;
    proof.known_makespan = best_->evaluation.makespan;
    proof.cancellation = options_.cancellation;
    const base::Ticks bound = makespan_bound(problem_, options_.memory_cap, proof);
    best_->proven_makespan = std::max(bound, best_->proven_makespan.value_or(bound));
  }

  void search() {
    SolveOptions options = options_;
    options.on_better = [this](const Solution& solution) { improve(solution); };
    const double spent = base::seconds_since(begin_);
    if (options.time_limit_seconds) options.time_limit_seconds = std::max(0.0, *options.time_limit_seconds - spent);
    Solution found = search_from(problem_, std::move(starts_), options);
    // The search affects the result even if another solver found the best schedule, so its record makes the run
    // reproducible.
    pipeline::SolverRecord record = found.solver;
    record.name = "auto";
    const auto stopped_by = found.stopped_by;
    const auto lost_process = found.lost_process;
    const bool weighed = options_.robustness_percent > 0;
    if (weighed || !is_better(*best_, found, options_)) best_ = std::move(found);
    best_->solver = std::move(record);
    best_->stopped_by = is_met() ? StoppedBy::bound : stopped_by;
    best_->lost_process = lost_process;
  }

  const Problem& problem_;
  const SolveOptions& options_;
  StopRequest stop_;
  const Bounds bounds_;
  std::optional<Solution> best_;
  std::vector<Solution> starts_;  // starts for a search; empty for problems that are too large for one
  bool is_proven_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Answer solve_auto(const Problem& problem, const SolveOptions& options) { return Portfolio(problem, options).run(); }

}  // namespace dovetail::fuse
