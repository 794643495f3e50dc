#include "fuse/search/search.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/stopwatch.h"
#include "fuse/constructions/constructions.h"
#include "fuse/pattern/pattern.h"
#include "fuse/search/heat.h"
#include "fuse/search/peak_search.h"
#include "fuse/search/rounds.h"
#include "fuse/search/search_order.h"
#include "fuse/search/steady_walk.h"
#include "fuse/search/stop_request.h"
#include "fuse/search/tighten.h"
#include "parallel/cancellation.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Lowering;
using pipeline::Order;
using pipeline::Problem;
using pipeline::StoppedBy;

/// [device] what may be held there without what is resident; empty where nothing is limited. For the least peak it is
/// that peak: it is known, as one micro-batch at a time has it, and what is left to find is the least makespan at it.
std::vector<std::int64_t> room_of(const Problem& problem, const SolveOptions& options) {
  const bool min_peak = options.objective == Objective::memory && !options.deadline;
  if (!min_peak && !options.memory_cap && !problem.capacity) return {};
  const Memory most = min_peak ? peak_activation_bound(problem) : Memory::max();
  std::vector<std::int64_t> room;
  for (const Memory here : pipeline::room_of(problem, options.memory_cap)) room.push_back(std::min(here, most).count());
  return room;
}

/// More than any time limit is worth, and small enough to multiply.
constexpr double max_iterations = 1e15;

/// How long a search is to be.
struct Plan {
  std::int64_t iterations;        ///< of each chain
  double steadiness_seconds = 0;  ///< that are to be left for what follows them
};

class Search {
 public:
  Search(const Problem& problem, const SolveOptions& options, const Lowering& lowering,
         const std::vector<Order>& starts, const Plan& plan)
      : problem_(problem),
        options_(options),
        lowering_(lowering),
        room_(room_of(problem, options)),
        scale_(scale_of(lowering.graph)),
        goal_(std::max(bounds_of(problem).makespan, options.deadline.value_or(Ticks(0))).count()),
        rounds_(lowering.graph, starts, options, plan.iterations),
        steadiness_seconds_(plan.steadiness_seconds) {
    rounds_.is_better = [this](const Standing& a, const Standing& b) { return key_of(a) < key_of(b); };
    rounds_.on_better = [this](const Standing& standing) {
      if (options_.on_better) options_.on_better(solution_of(standing));
    };
  }

  /// `free` are orders that need not fit, the shortest first.
  void run(const std::vector<Order>& free) {
    shorten_and_lower(free);
    steady();
  }

  void shorten_and_lower(const std::vector<Order>& free) {
    const bool min_peak = options_.objective == Objective::memory && !options_.deadline;
    if (!room_.empty() && !min_peak && min_makespan() > goal_)
      free_ = tighten(rounds_, lowering_.graph, free, {room_, goal_, options_.seed, rounds_.planned()});
    shorten_all();
    if (!rounds_.stopped()) lower_all();
  }

  /// Takes its time whatever the iterations are.
  void steady() {
    if (options_.brief && options_.robustness_percent == 0) return;
    if (!rounds_.stopped() && lowering_.graph.size() <= max_ops_for_steadiness) steady_all();
  }

  /// Iterations of each chain in a second: of the second phase if it is most of a search, as the first ends early where
  /// it meets its bound.
  double speed() const {
    return speed_.value_or(static_cast<double>(rounds_.done()) / std::max(1e-6, rounds_.seconds()));
  }

  Solution answer() const {
    Solution solution = solution_of(rounds_.standings()[rounds_.best()]);
    solution.lost_process = rounds_.lost();
    return solution;
  }

 private:
  static constexpr std::size_t max_ops_for_steadiness = 50'000;
  static constexpr double brief_seconds = 1;  // in less, there is no time for a costly proof

  std::tuple<std::int64_t, std::int64_t, std::int64_t> key_of(const Standing& standing) const {
    if (options_.robustness_percent > 0 && steadying_) return {standing.score, standing.peak, 0};
    return {std::max(standing.makespan, goal_), standing.peak, standing.score};
  }

  bool met() const {
    const Standing& best = rounds_.standings()[rounds_.best()];
    return best.makespan <= goal_ && best.peak <= peak_target_;
  }

  Solution solution_of(const Standing& standing) const {
    auto evaluation = pipeline::evaluate(lowering_.graph, standing.order);
    Solution solution{problem_, {}, lowering_.graph, standing.order, std::move(evaluation).value(), {}};
    solution.solver = {"search", options_.seed, options_.chains, rounds_.planned()};
    solution.stopped_by = met() ? StoppedBy::bound : rounds_.stopped().value_or(StoppedBy::iterations);
    return solution;
  }

  std::int64_t ops() const { return static_cast<std::int64_t>(lowering_.graph.size()); }

  std::int64_t min_makespan() const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Standing& standing : rounds_.standings()) least = std::min(least, standing.makespan);
    return least;
  }

  /// Coolings in half of the iterations that are left.
  void shorten_all() {
    const std::vector<std::int64_t> lengths = makespan_coolings(ops(), (rounds_.planned() - rounds_.done()) / 2);
    for (std::size_t cooling = 0; cooling < lengths.size(); ++cooling) {
      if (rounds_.stopped() || min_makespan() <= goal_) return;
      depends_on_plan_ = cooling + 1 == lengths.size();
      std::vector<MakespanDescent> descents;
      for (std::size_t own = 0; own < rounds_.chains().size(); ++own) {
        const std::size_t turn = static_cast<std::size_t>(rounds_.number(own)) + cooling;
        descents.push_back(room_.empty() ? makespan_descent(scale_, turn, lengths[cooling])
                                         : limited_makespan_descent(scale_, turn, lengths[cooling]));
        rounds_.chains()[own].walk.reset(rounds_.chains()[own].best);
      }
      rounds_.run_rounds(
          "makespan", lengths[cooling], [this] { return min_makespan() <= goal_; },
          [&](std::size_t own, std::int64_t count) {
            shorten(rounds_.chains()[own], descents[own], count, goal_, room_);
          });
    }
  }

  void lower_all() {
    const std::int64_t deadline = std::max(goal_, min_makespan());
    const Standing& best = rounds_.standings()[rounds_.best()];
    BoundOptions proof;
    proof.work = options_.proof_work;
    if (options_.time_limit_seconds && *options_.time_limit_seconds < brief_seconds) proof.work = 0;
    proof.known_peak = Memory(best.peak);
    if (!options_.exchange) proof.cancellation = options_.cancellation;  // all processes need the same target
    peak_target_ = peak_activation_bound(problem_, Ticks(deadline), proof).count();
    rounds_.gather([deadline](const Standing& standing) { return standing.makespan <= deadline; }, rounds_.best());
    const bool chosen_by_time = !options_.iterations && options_.time_limit_seconds && !options_.exchange;
    // What was done so far must not have depended on how many iterations are planned.
    const bool depended = !room_.empty() || depends_on_plan_;
    const std::int64_t done = rounds_.done();
    const double seconds = rounds_.seconds();
    const auto speed = [&] {
      return static_cast<double>(rounds_.done() - done) / std::max(1e-6, rounds_.seconds() - seconds);
    };
    lower_peaks(rounds_, lowering_.graph, {deadline, peak_target_, limits_of_descents(), starts_of_descents(deadline)},
                [&] {
                  if (chosen_by_time && !depended) plan_by_speed(speed());
                });
    if (room_.empty() && rounds_.done() > done) speed_ = speed();
  }

  /// What limits walks that are only to find lower peaks than they have. Where these are within the smallest room that
  /// is enough to fit, and a walk that may hold more on its way there moves better.
  std::vector<std::int64_t> limits_of_descents() const {
    const auto fits_anywhere = [this](const Standing& standing) {
      return standing.peak <= *std::min_element(room_.begin(), room_.end());
    };
    const auto& standings = rounds_.standings();
    if (!room_.empty() && std::all_of(standings.begin(), standings.end(), fits_anywhere)) return {};
    return room_;
  }

  /// Where nothing limits them, walks start from what was found without a capacity: from a low peak they see only what
  /// is near it.
  std::vector<Order> starts_of_descents(std::int64_t deadline) {
    std::vector<Order> starts;
    if (free_.empty() || !limits_of_descents().empty()) return starts;
    for (std::size_t own = 0; own < free_.size(); ++own)
      starts.push_back(free_[own].makespan <= deadline ? free_[own].order : rounds_.chains()[own].best);
    return starts;
  }

  /// Plans the iterations that the time limit allows at that speed, a second and chain, if they are more: so that a run
  /// of as many does the same.
  void plan_by_speed(double speed) {
    constexpr double margin = 0.93;
    const double seconds_left = margin * *options_.time_limit_seconds - rounds_.seconds() - steadiness_seconds_;
    const double left = std::max(0.0, seconds_left) * speed;
    rounds_.plan(
        std::max(rounds_.planned(), rounds_.done() + static_cast<std::int64_t>(std::min(left, max_iterations))));
  }

  /// Of equals the steadiest; or, where steadiness is weighed, what is worth most at the makespan found and at somewhat
  /// later deadlines.
  void steady_all() {
    constexpr int samples = 3;  // of a chain in a round
    const int rounds = options_.robustness_percent > 0 ? 16 : 4;
    constexpr std::int64_t later_percent[] = {0, 1, 2, 4};
    const std::int64_t iterations = 20 * ops();
    const Standing best = rounds_.standings()[rounds_.best()];
    rounds_.gather(
        [&](const Standing& standing) { return standing.makespan == best.makespan && standing.peak == best.peak; },
        rounds_.best());
    const SteadinessMeasure measure{options_.robustness_percent, 200, options_.seed};
    rounds_.run("steadiness", 0, [&](std::size_t own) {
      Chain& chain = rounds_.chains()[own];
      chain.best_score = steadiness(lowering_.graph, chain.best, chain.best_makespan, measure);
    });
    steadying_ = true;
    for (int round = 0; round < rounds && !rounds_.stopped(); ++round)
      rounds_.run("steadiness", 0, [&](std::size_t own) {
        const std::int64_t later =
            options_.robustness_percent > 0
                ? later_percent[static_cast<std::size_t>(rounds_.number(own)) % std::size(later_percent)]
                : 0;
        const std::int64_t deadline = best.makespan + best.makespan / 100 * later;
        walk_steadily(rounds_.chains()[own], lowering_.graph, deadline, best.peak, room_, measure, samples, iterations);
      });
  }

  const Problem& problem_;
  const SolveOptions& options_;
  const Lowering& lowering_;
  const std::vector<std::int64_t> room_;
  const Scale scale_;
  const std::int64_t goal_;  // makespans up to it are alike
  Rounds rounds_;
  std::vector<FreeSchedule> free_;  // [own chain], where tightening found them
  const double steadiness_seconds_;
  std::optional<double> speed_;
  bool depends_on_plan_ = false;
  std::int64_t peak_target_ = 0;
  bool steadying_ = false;
};

/// The orders to start from, the best first. From some a walk never comes to the bound that it meets in a moment from
/// another.
struct Starts {
  std::vector<Order> fitting;  // as good as any in what the objective and the capacity ask for
  std::vector<Order> free;     // by makespan alone
};

void add_order(std::vector<Order>& orders, const Lowering& lowering, const Solution& start) {
  Order order = search_order(lowering, start);
  if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(std::move(order));
}

Starts starts_of(const Problem& problem, std::vector<Solution> found, const SolveOptions& options,
                 const Lowering& lowering) {
  DOVETAIL_ASSERT(!found.empty());
  std::sort(found.begin(), found.end(), [&](const Solution& a, const Solution& b) { return is_better(a, b, options); });
  const auto fits = [&](const Solution& solution) {
    return pipeline::find_excess(problem, solution.evaluation, options.memory_cap).empty();
  };
  const pipeline::Evaluation best = found.front().evaluation;
  const bool min_peak = options.objective == Objective::memory && !options.deadline;
  Starts starts;
  for (const Solution& solution : found) {
    // Where nothing fits, only the first has the least excess, and no walk goes beyond that. What takes twice as long
    // as the best is no start: one micro-batch at a time where nothing limits the memory.
    const bool far = solution.evaluation.makespan.count() / 2 > best.makespan.count();
    if (far || (&solution != &found.front() && !fits(solution)) ||
        (min_peak && solution.evaluation.peak_activation > best.peak_activation))
      continue;
    add_order(starts.fitting, lowering, solution);
  }
  std::sort(found.begin(), found.end(),
            [](const Solution& a, const Solution& b) { return a.evaluation.makespan < b.evaluation.makespan; });
  for (const Solution& solution : found) add_order(starts.free, lowering, solution);
  return starts;
}

/// About ten seconds of two ordinary cores with the default chains. In loose schedules a swap moves many ops: they take
/// longer.
std::int64_t default_iterations(std::int64_t ops, bool loose) {
  const std::int64_t most = loose ? 20'000'000 : 80'000'000;
  constexpr std::int64_t ops_in_fast_memory = 2'000;
  return std::max<std::int64_t>(1'000'000, most / std::max(ops, ops_in_fast_memory) * ops_in_fast_memory);
}

/// A plan that takes somewhat less than `seconds` on this machine, from a short trial: a run that its time limit has to
/// stop cannot be repeated by its iterations.
Plan plan_for(const Problem& problem, const SolveOptions& options, const Lowering& lowering, const Starts& starts,
              double seconds) {
  constexpr std::int64_t fewest = 1'024;
  if (seconds <= 0) return {fewest};
  const parallel::Cancellation in_time(options.cancellation, seconds);
  SolveOptions trial = options;
  trial.cancellation = &in_time;
  trial.chains = 1;
  trial.threads = 1;
  trial.time_limit_seconds.reset();
  trial.on_progress = nullptr;
  trial.on_better = nullptr;
  trial.exchange = nullptr;
  trial.proof_work = 0;
  constexpr std::int64_t trial_iterations = 1 << 20;
  const auto begin = std::chrono::steady_clock::now();
  Search search(problem, trial, lowering, starts.fitting, {trial_iterations});
  search.shorten_and_lower(starts.free);
  const double walked = base::seconds_since(begin);
  search.steady();
  const double spent = base::seconds_since(begin);
  const int lanes = options.threads * (options.exchange ? options.exchange->ranks : 1);
  const int chains_a_lane = (options.chains + lanes - 1) / lanes;
  // Chains are not equally fast; without capacities what is left over is planned again.
  const double margin = room_of(problem, options).empty() ? 0.7 : 0.85;
  Plan plan{fewest, (spent - walked) * chains_a_lane};
  const double left = margin * std::max(0.0, seconds - spent) - plan.steadiness_seconds;
  const double iterations = std::max(0.0, left) * search.speed() / chains_a_lane;
  plan.iterations = static_cast<std::int64_t>(std::clamp(iterations, static_cast<double>(fewest), max_iterations));
  return plan;
}

}  // namespace

Solution search_from(const Problem& problem, std::vector<Solution> starts, const SolveOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  const Starts orders = starts_of(problem, std::move(starts), options, lowering);
  SolveOptions settled = options;
  Plan plan{options.iterations.value_or(default_iterations(static_cast<std::int64_t>(lowering.graph.size()),
                                                           options.deadline || !room_of(problem, options).empty()))};
  if (options.time_limit_seconds) {
    if (!options.iterations) plan = plan_for(problem, options, lowering, orders, *options.time_limit_seconds);
    settled.time_limit_seconds = std::max(0.0, *options.time_limit_seconds - base::seconds_since(begin));
  }
  RoundReport own;
  own.planned = plan.iterations;
  const auto reports = exchange_reports(options.exchange, own);
  if (reports.ok())
    for (const RoundReport& report : *reports) plan.iterations = std::min(plan.iterations, report.planned);
  Search search(problem, settled, lowering, orders.fitting, plan);
  search.run(orders.free);
  return search.answer();
}

Answer solve_search(const Problem& problem, const SolveOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Solution> starts;
  if (options.start) starts.push_back(*options.start);
  // A pattern that fits its plays to the time would give a start that iterations do not repeat: starts only end with
  // it.
  const parallel::Cancellation in_time(options.cancellation, options.time_limit_seconds);
  SolveOptions settled = options;
  settled.time_limit_seconds.reset();
  settled.cancellation = &in_time;
  StopRequest stop(settled);
  for (const auto solve : {solve_one_at_a_time, solve_pattern, solve_list, solve_greedy, solve_fused_1f1b}) {
    // The first is too quick to be interrupted, and there has to be one.
    if (!starts.empty() && stop.ask()) break;
    Answer answer = NotApplicable{};
    if (!stop.completes([&] { answer = solve(problem, settled); }) && !starts.empty()) continue;
    if (auto* solution = std::get_if<Solution>(&answer)) starts.push_back(std::move(*solution));
  }
  // The best of the starts is all there is time for: one chain holds it.
  if (!stop.is_shared() && in_time.requested()) settled.chains = 1;
  settled.cancellation = options.cancellation;
  if (options.time_limit_seconds)
    settled.time_limit_seconds = std::max(0.0, *options.time_limit_seconds - base::seconds_since(begin));
  return search_from(problem, std::move(starts), settled);
}

}  // namespace dovetail::fuse
