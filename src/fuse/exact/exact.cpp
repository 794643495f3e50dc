#include "fuse/exact/exact.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "fuse/bounds/bounds.h"
#include "fuse/constructions/constructions.h"
#include "fuse/exact/exact_model.h"
#include "fuse/exact/exact_search.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Problem;
using Outcome = ExactSearch::Outcome;

/// The search examines every op in each node and recurses once per op.
constexpr std::int64_t max_ops = 2000;
constexpr std::int64_t no_cap = Memory::max().count();

std::int64_t count_split_ops(const Problem& problem) {
  std::int64_t count = pipeline::count_ops(problem);
  for (const pipeline::Model& model : problem.models)
    if (model.split())
      count += static_cast<std::int64_t>(model.replicas.size()) * model.stages() * model.total_microbatches();
  return count;
}

/// Returns the limit of each device beyond its resident memory, but at least what every schedule holds there at some
/// moment.
std::vector<std::int64_t> find_caps(const Problem& problem, std::optional<Memory> cap) {
  std::vector<std::int64_t> caps;
  for (const Memory headroom : pipeline::headroom_of(problem, cap)) caps.push_back(headroom.count());
  for (const pipeline::CapacityExcess& device : find_impossible(problem, cap))
    caps[device.device.index()] = (device.peak - problem.resident[device.device.index()]).count();
  return caps;
}

/// Returns the best of `options.start` and the fast constructions. The result fits, and has the minimum peak if that is
/// the objective, because running one micro-batch at a time achieves both.
Solution first_solution(const Problem& problem, const SolveOptions& options) {
  std::optional<Solution> best;
  const auto improve = [&](const Solution& solution) {
    if (!solution.other_layout && (!best || is_better(solution, *best, options))) best = solution;
  };
  for (const auto solve : {solve_one_at_a_time, solve_list, solve_greedy, solve_fused_1f1b}) {
    const Answer answer = solve(problem, options);
    if (const auto* solution = std::get_if<Solution>(&answer)) improve(*solution);
  }
  if (options.start) improve(*options.start);
  DOVETAIL_ASSERT(best.has_value());
  return std::move(*best);
}

class Prover {
 public:
  Prover(const Problem& problem, const SolveOptions& options, const ExactLimits& limits)
      : problem_(problem),
        options_(options),
        limits_(limits),
        model_(make_exact_model(problem)),
        caps_(find_caps(problem, options.memory_cap)),
        best_(first_solution(problem, options)),
        search_(model_, limits.nodes, limits.memory_bytes, options.cancellation) {
    search_.on_nodes = [this] { report_progress(); };
    // Weak bounds on purpose: the search soon improves on them, and its proofs can then be checked against the stronger
    // bounds.
    result_.makespan_bound = min_makespan_ = bounds_of(problem).makespan;
    result_.peak_bound = peak_activation_bound(problem);
  }

  ExactResult run() && {
    if (options_.on_better) options_.on_better(best_);
    if (options_.objective == Objective::memory && !options_.deadline)
      run_memory_first();
    else
      run_makespan_first();
    result_.nodes = search_.nodes();
    result_.interrupted = stopped_ && options_.cancellation && options_.cancellation->requested();
    best_.solver = {};
    best_.solver.name = "exact";
    best_.solver.iterations = result_.nodes;
    best_.proven_makespan = min_makespan_;
    best_.proven_peak = result_.peak_bound;
    best_.stopped_by = result_.interrupted ? pipeline::StoppedBy::interrupt
                       : stopped_          ? pipeline::StoppedBy::iterations
                                           : pipeline::StoppedBy::bound;
    result_.solution = std::move(best_);
    return std::move(result_);
  }

 private:
  void run_memory_first() {
    result_.peak_proven = true;
    result_.makespan_proven = minimise_makespan(Ticks(0), best_.evaluation.peak_activation.count());
  }

  void run_makespan_first() {
    const Ticks deadline = options_.deadline.value_or(Ticks(0));
    const bool done = minimise_makespan(deadline, no_cap);
    min_makespan_ = result_.makespan_bound;
    const bool in_time = best_.evaluation.makespan <= deadline;
    const Ticks last = std::max(deadline, best_.evaluation.makespan);
    result_.makespan_proven = done && !in_time;
    result_.peak_proven = done && minimise_peak(last);
    if (result_.peak_proven && in_time)
      result_.makespan_proven = minimise_makespan(Ticks(0), best_.evaluation.peak_activation.count());
  }

  /// Minimizes the makespan of schedules with a peak of at most `peak`. Stops at the first schedule that ends by
  /// `enough`. Sets makespan_bound; returns false if stopped.
  bool minimise_makespan(Ticks enough, std::int64_t peak) {
    const std::int64_t grain = model_.time_grain;
    std::int64_t bound = std::max(result_.makespan_bound, enough).count();
    if (bound > enough.count()) bound += (grain - bound % grain) % grain;
    phase_ = "exact makespan";
    const CappedModel capped = capped_model(peak);
    // Search upwards, at first in small steps: a search is short if its deadline is far from feasible.
    for (std::int64_t step = 1; bound < best_.evaluation.makespan.count();) {
      const std::int64_t open = best_.evaluation.makespan.count() - bound;
      const std::int64_t deadline = bound + std::min((step - 1) * grain, (open - 1) / grain * grain);
      const Outcome outcome = decide(deadline, capped, peak);
      if (outcome == Outcome::stopped) break;
      if (outcome == Outcome::none) bound = next_time(deadline);
      const std::int64_t halves = (best_.evaluation.makespan.count() - bound) / grain / 2;
      step = std::max<std::int64_t>(1, std::min(step * 2, halves));
    }
    if (bound > enough.count()) result_.makespan_bound = Ticks(std::min(bound, best_.evaluation.makespan.count()));
    return bound >= best_.evaluation.makespan.count() || best_.evaluation.makespan <= enough;
  }

  std::int64_t next_time(std::int64_t time) const { return time - time % model_.time_grain + model_.time_grain; }

  /// Minimizes the peak of schedules that end by `deadline`. Sets peak_bound; returns false if stopped.
  bool minimise_peak(Ticks deadline) {
    phase_ = "exact memory";
    Levels levels(model_, caps_, result_.peak_bound.count(), best_.evaluation.peak_activation.count());
    while (const std::optional<std::int64_t> peak = levels.middle()) {
      const Outcome outcome = decide(deadline.count(), capped_model(*peak), *peak);
      if (outcome == Outcome::stopped) break;
      if (outcome == Outcome::none)
        levels.drop_up_to(*peak);
      else
        levels.drop_from(best_.evaluation.peak_activation.count());
    }
    result_.peak_bound = Memory(levels.least().value_or(best_.evaluation.peak_activation.count()));
    return !levels.least();
  }

  CappedModel capped_model(std::int64_t peak) const {
    std::vector<std::int64_t> caps = caps_;
    for (std::int64_t& cap : caps) cap = std::min(cap, peak);
    return make_capped_model(model_, std::move(caps));
  }

  /// Searches for a schedule within the caps that ends by `deadline`. If there is one, it becomes the best.
  Outcome decide(std::int64_t deadline, const CappedModel& capped, std::int64_t peak) {
    const Outcome outcome = search_.find(deadline, capped, peak);
    stopped_ = outcome == Outcome::stopped;
    if (outcome != Outcome::found) return outcome;
    Solution found{problem_, {}, model_.lowering.graph, {}, {}, {}, {}};
    found.order.devices.resize(static_cast<std::size_t>(problem_.devices));
    for (const std::size_t op : search_.found())
      found.order.devices[model_.classes[model_.class_of[op]].device].push_back(model_.graph_op[op]);
    auto evaluation = pipeline::evaluate(found.graph, found.order);
    DOVETAIL_ASSERT(evaluation.ok());
    found.evaluation = std::move(evaluation).value();
    DOVETAIL_ASSERT(found.evaluation.makespan.count() <= deadline && found.evaluation.peak_activation.count() <= peak);
    DOVETAIL_ASSERT(is_better(found, best_, options_));
    best_ = std::move(found);
    best_.solver.name = "exact";
    if (options_.on_better) options_.on_better(best_);
    return outcome;
  }

  void report_progress() const {
    if (!options_.on_progress) return;
    Progress progress;
    progress.phase = phase_;
    progress.makespan = best_.evaluation.makespan;
    progress.peak_activation = best_.evaluation.peak_activation;
    progress.iterations = search_.nodes();
    progress.iterations_planned = limits_.nodes;
    options_.on_progress(progress);
  }

  const Problem& problem_;
  const SolveOptions& options_;
  ExactLimits limits_;
  ExactModel model_;
  std::vector<std::int64_t> caps_;  // [device]
  Solution best_;
  ExactSearch search_;
  ExactResult result_;
  Ticks min_makespan_;  // a bound for all schedules that fit, whatever their peak
  std::string_view phase_;
  bool stopped_ = false;
};

std::optional<std::string> why_not_exact(const Problem& problem) {
  if (auto other = pipeline::find_other_ops(problem, pipeline::problem_solver_kinds)) return other;
  if (count_split_ops(problem) <= max_ops) return std::nullopt;
  return fmt::format("the problem has {} ops, but the exact search accepts at most {}", count_split_ops(problem),
                     max_ops);
}

}  // namespace

ExactLimits limits_for(const SolveOptions& options, std::int64_t nodes) {
  constexpr double nodes_per_second = 300'000;
  if (options.time_limit_seconds) {
    const double in_time = nodes_per_second * std::min(*options.time_limit_seconds, 1e6);
    nodes = std::min(nodes, std::max<std::int64_t>(1, static_cast<std::int64_t>(in_time)));
  }
  return {.nodes = nodes};
}

ExactResult solve_exactly(const Problem& problem, const SolveOptions& options, const ExactLimits& limits) {
  if (why_not_exact(problem)) {
    ExactResult result;
    result.makespan_bound = bounds_of(problem).makespan;
    result.peak_bound = peak_activation_bound(problem);
    return result;
  }
  return Prover(problem, options, limits).run();
}

Answer solve_exact(const Problem& problem, const SolveOptions& options) {
  const ExactLimits limits =
      options.iterations ? ExactLimits{.nodes = *options.iterations} : limits_for(options, ExactLimits{}.nodes);
  if (const auto why = why_not_exact(problem)) return NotApplicable{*why};
  ExactResult result = solve_exactly(problem, options, limits);
  if (result.interrupted || (result.makespan_proven && result.peak_proven)) return std::move(*result.solution);
  return NotApplicable{fmt::format("no optimum was proven within {} nodes", result.nodes)};
}

}  // namespace dovetail::fuse
