#include "fuse/pareto.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/stopwatch.h"
#include "fuse/portfolio.h"
#include "fuse/search/stop_request.h"
#include "fuse/solver.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Problem;
using pipeline::StoppedBy;

/// Divisors of the iterations: each end of the front gets a quarter, each deadline between them a 32nd.
constexpr std::int64_t divisor_of_end = 4;
constexpr std::int64_t divisor_of_deadline = 32;
constexpr int deadlines = 16;
/// Above this many ops the bound is too slow to evaluate at every step of a search for deadlines.
constexpr std::int64_t max_ops_for_proofs = 200'000;

bool dominates(const Solution& a, const Solution& b) {
  return a.evaluation.makespan <= b.evaluation.makespan && a.evaluation.peak_activation <= b.evaluation.peak_activation;
}

/// Cheap lower bound on the peak. It decreases as deadlines grow.
Memory swept_peak(const Problem& problem, Ticks deadline) {
  return peak_activation_bound(problem, deadline, {.work = 0});
}

/// Deadlines between two neighbors on the front at which a schedule might have a lower peak than the first.
struct Gap {
  std::size_t left;  ///< index of the left neighbor on the front
  Ticks first;       ///< smallest such deadline
  Ticks last;        ///< largest such deadline: one tick before the right neighbor's makespan
  Memory drop;       ///< difference between the peaks of the two neighbors
};

class ParetoSearch {
 public:
  ParetoSearch(const Problem& problem, const SolveOptions& options)
      : problem_(problem), options_(options), stop_(options), total_(options.iterations) {
    if (options.start) add(*options.start);
  }

  std::vector<Solution> run() && {
    add_constructions();
    search(Objective::makespan, std::nullopt, options_.start, divisor_of_end);
    search(Objective::memory, std::nullopt, options_.start, divisor_of_end);
    for (int i = 0; i < deadlines && !stopped_ && !lost_process_; ++i) {
      const std::optional<Gap> gap = widest_gap();
      if (!gap) {
        stopped_ = is_proven_ ? StoppedBy::bound : StoppedBy::iterations;
        break;
      }
      const Ticks deadline = gap->first + Ticks((gap->last - gap->first).count() / 3);
      const Solution start = front_[gap->left];
      search(Objective::memory, deadline, &start, divisor_of_deadline);
    }
    return std::move(*this).answer();
  }

 private:
  bool fits(const Solution& solution) const {
    return pipeline::find_excess(problem_, solution.evaluation, options_.memory_cap).empty();
  }

  /// Adds the constructions, which stay on the front unless a search finds better schedules.
  void add_constructions() {
    for (const Solver& solver : direct_solvers()) {
      if (stop_.poll()) return;
      if (!are_quick(problem_) && stop_.is_late(begin_) && !front_.empty()) {
        stopped_ = StoppedBy::time;
        return;
      }
      Answer answer = NotApplicable{};
      if (!stop_.completes([&] { answer = solver.solve(problem_, options_); })) continue;
      auto* solution = std::get_if<Solution>(&answer);
      if (solution && !solution->other_layout) add(std::move(*solution));
    }
  }

  /// Options for one search: its share of the iterations, or its share of the time limit while the speed is unknown.
  SolveOptions options_of(Objective objective, std::optional<Ticks> deadline, const Solution* start,
                          std::int64_t parts) {
    SolveOptions options = options_;
    options.objective = objective;
    options.deadline = deadline;
    options.robustness_percent = 0;
    options.start = start;
    options.on_better = nullptr;
    options.iterations.reset();
    if (total_) options.iterations = std::max<std::int64_t>(1, *total_ / parts);
    if (options_.time_limit_seconds)
      options.time_limit_seconds = *options_.time_limit_seconds / static_cast<double>(parts);
    if (options_.on_progress) options.on_progress = [this](const Progress& progress) { report_progress(progress); };
    return options;
  }

  /// Reports the progress of one search, with the iterations of the whole front.
  void report_progress(Progress progress) const {
    progress.iterations += done_;
    if (total_) {
      progress.iterations_planned = *total_;
      const double left = static_cast<double>(std::max<std::int64_t>(0, *total_ - progress.iterations));
      if (progress.iterations_per_second > 0)
        progress.seconds_left = left * options_.chains / progress.iterations_per_second;
    }
    progress.seconds_left = limit_seconds_left(options_, progress.seconds_left, base::seconds_since(begin_));
    options_.on_progress(progress);
  }

  void search(Objective objective, std::optional<Ticks> deadline, const Solution* start, std::int64_t parts) {
    if (stopped_ || lost_process_) return;
    Answer answer = solve_auto(problem_, options_of(objective, deadline, start, parts));
    Solution found = std::get<Solution>(std::move(answer));  // solve_auto applies to every problem
    // Deterministic solvers, such as the exact search of a small problem, do not use up iterations.
    if (found.solver.seed && found.solver.iterations) {
      searched_ = true;
      // The first search that chooses its own iterations fixes the total for the whole front, so that a rerun
      // reproduces it.
      if (!total_) total_ = *found.solver.iterations * parts;
      done_ += *found.solver.iterations;
    }
    if (found.lost_process) lost_process_ = found.lost_process;
    if (found.stopped_by.value_or(StoppedBy::bound) != StoppedBy::bound) is_proven_ = false;
    // A search that used up its share of the time leaves the shares of the others untouched.
    if (found.stopped_by == StoppedBy::time) is_cut_ = true;
    // With several processes, each sees a cancellation at a different time, so only the result of the search counts.
    const bool cancelled = !options_.is_shared() && options_.cancellation && options_.cancellation->requested();
    if (stop_.is_late(begin_)) stopped_ = StoppedBy::time;
    if (cancelled || found.stopped_by == StoppedBy::interrupt) stopped_ = StoppedBy::interrupt;
    if (deadline) searched_until_.push_back(*deadline);
    add(std::move(found));
  }

  /// Adds a schedule unless another one dominates it. The first of equal schedules stays. Schedules that do not fit are
  /// kept only until one fits.
  void add(Solution solution) {
    if (!front_.empty() && !fits(front_.front())) {
      if (!is_better(solution, front_.front(), options_)) return;
      front_.clear();
    }
    if (!front_.empty() && !fits(solution)) return;
    if (std::any_of(front_.begin(), front_.end(), [&](const Solution& other) { return dominates(other, solution); }))
      return;
    std::erase_if(front_, [&](const Solution& other) { return dominates(solution, other); });
    if (options_.on_better) options_.on_better(solution);
    const auto place = std::find_if(front_.begin(), front_.end(), [&](const Solution& other) {
      return other.evaluation.makespan > solution.evaluation.makespan;
    });
    front_.insert(place, std::move(solution));
  }

  /// Smallest deadline up to `last` at which a peak below `peak` is not proven impossible.
  Ticks first_open_deadline(Memory peak, Ticks first, Ticks last) {
    if (pipeline::count_ops(problem_) > max_ops_for_proofs) return first;
    while (first < last) {
      const Ticks middle = first + Ticks((last - first).count() / 2);
      const auto [known, is_new] = bound_at_.try_emplace(middle);
      if (is_new) known->second = swept_peak(problem_, middle);
      if (known->second < peak) {
        last = middle;
      } else {
        first = middle + Ticks(1);
      }
    }
    return first;
  }

  std::optional<Gap> widest_gap() {
    std::vector<Gap> gaps;
    for (std::size_t i = 0; i + 1 < front_.size(); ++i) {
      const pipeline::Evaluation& left = front_[i].evaluation;
      const pipeline::Evaluation& right = front_[i + 1].evaluation;
      Gap gap{i, left.makespan + Ticks(1), right.makespan - Ticks(1), left.peak_activation - right.peak_activation};
      for (const Ticks until : searched_until_)
        if (until <= gap.last) gap.first = std::max(gap.first, until + Ticks(1));
      if (gap.first <= gap.last) gap.first = first_open_deadline(left.peak_activation, gap.first, gap.last + Ticks(1));
      if (gap.first <= gap.last) gaps.push_back(gap);
    }
    if (gaps.empty()) return std::nullopt;
    // Both lengths are reduced below 2^31, so that their product is exact in 64 bits.
    int time_bits = 0;
    int memory_bits = 0;
    for (const Gap& gap : gaps) {
      time_bits = std::max(time_bits, bits_of((gap.last - gap.first).count() + 1));
      memory_bits = std::max(memory_bits, bits_of(gap.drop.count()));
    }
    const auto area = [&](const Gap& gap) {
      return (((gap.last - gap.first).count() + 1) >> std::max(0, time_bits - 31)) *
             (gap.drop.count() >> std::max(0, memory_bits - 31));
    };
    return *std::max_element(gaps.begin(), gaps.end(), [&](const Gap& a, const Gap& b) { return area(a) < area(b); });
  }

  static int bits_of(std::int64_t value) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))); }

  std::vector<Solution> answer() && {
    for (Solution& solution : front_) {
      if (searched_) solution.solver = {"pareto", options_.seed, options_.chains, *total_};
      solution.stopped_by.reset();
      solution.lost_process = lost_process_;
      if (searched_) solution.stopped_by = is_cut_ ? StoppedBy::time : stopped_.value_or(StoppedBy::iterations);
      if (stopped_ == StoppedBy::interrupt) solution.stopped_by = stopped_;
    }
    return std::move(front_);
  }

  const Problem& problem_;
  const SolveOptions& options_;
  StopRequest stop_;
  std::vector<Solution> front_;  // by increasing makespan
  std::vector<Ticks> searched_until_;
  std::map<Ticks, Memory> bound_at_;
  std::optional<std::int64_t> total_;  // iterations of the whole front, once known
  std::int64_t done_ = 0;
  bool searched_ = false;
  bool is_proven_ = true;  // whether every search ended at its bounds
  bool is_cut_ = false;    // whether any search ended before its iterations were done
  std::optional<StoppedBy> stopped_;
  std::optional<base::Error> lost_process_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Adds the steps between two makespans whose bounds are known.
void refine(const Problem& problem, PeakBoundStep left, PeakBoundStep right, std::int64_t finest,
            std::vector<PeakBoundStep>& curve) {
  if (left.peak <= right.peak) return;
  const std::int64_t width = (right.makespan - left.makespan).count();
  if (width <= finest) {
    // Somewhere in between, the bound drops to its value at the right makespan. Only this lower value is claimed after
    // the left makespan.
    curve.push_back({left.makespan + Ticks(1), right.peak});
    return;
  }
  const Ticks middle = left.makespan + Ticks(width / 2);
  const PeakBoundStep between{middle, std::min(left.peak, swept_peak(problem, middle))};
  refine(problem, left, between, finest, curve);
  refine(problem, between, right, finest, curve);
}

}  // namespace

std::vector<Solution> solve_pareto(const Problem& problem, const SolveOptions& options) {
  SolveOptions plain = options;
  plain.objective = Objective::makespan;
  plain.deadline.reset();
  return ParetoSearch(problem, plain).run();
}

PointBounds point_bounds(const Solution& solution, const Bounds& bounds, const BoundOptions& proof) {
  const Problem& problem = solution.problem;
  const auto [makespan, peak] = std::pair(solution.evaluation.makespan, solution.evaluation.peak_activation);
  PointBounds proven{std::max(bounds.makespan, solution.proven_makespan.value_or(Ticks(0))),
                     solution.proven_peak.value_or(Memory(0))};
  BoundOptions of_peak = proof;
  of_peak.known_peak = peak;
  proven.peak = std::max(proven.peak, peak_activation_bound(problem, makespan, of_peak));
  // First deadline for which the sweeps do not prove a larger peak.
  Ticks last = makespan;
  while (proven.makespan < last) {
    if (parallel::is_requested(proof.cancellation)) return proven;
    const Ticks middle = proven.makespan + Ticks((last - proven.makespan).count() / 2);
    if (swept_peak(problem, middle) > peak) {
      proven.makespan = middle + Ticks(1);
    } else {
      last = middle;
    }
  }
  if (proven.makespan == makespan) return proven;
  Problem within = problem;
  within.capacity = problem.resident;
  for (Memory& headroom : *within.capacity) headroom += peak;
  BoundOptions of_makespan = proof;
  of_makespan.known_makespan = makespan;
  proven.makespan = std::max(proven.makespan, makespan_bound(within, std::nullopt, of_makespan));
  return proven;
}

std::vector<PeakBoundStep> peak_bound_curve(const Problem& problem, Ticks from, Ticks to, int resolution) {
  const PeakBoundStep left{from, swept_peak(problem, from)};
  std::vector<PeakBoundStep> curve{left};
  if (to <= from) return curve;
  const std::int64_t finest = std::max<std::int64_t>(1, (to - from).count() / resolution);
  refine(problem, left, {to, std::min(left.peak, swept_peak(problem, to))}, finest, curve);
  return curve;
}

void raise_curve(std::vector<PeakBoundStep>& curve, Ticks deadline, Memory peak) {
  // Steps that are lower and begin by the deadline are raised. The step that the deadline cuts continues after it.
  std::vector<PeakBoundStep> raised;
  const auto add = [&raised](PeakBoundStep step) {
    if (raised.empty() || step.peak < raised.back().peak) raised.push_back(step);
  };
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const bool is_last = i + 1 == curve.size();
    if (curve[i].makespan <= deadline && curve[i].peak < peak) {
      add({curve[i].makespan, peak});
      if (is_last || curve[i + 1].makespan > deadline + Ticks(1)) add({deadline + Ticks(1), curve[i].peak});
    } else {
      add(curve[i]);
    }
  }
  curve = std::move(raised);
}

}  // namespace dovetail::fuse
