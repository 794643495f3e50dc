#include "fuse/search/search.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
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
#include "fuse/search/stop_request.h"
#include "fuse/search/walk_phases.h"
#include "parallel/cancellation.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Lowering;
using pipeline::MicrobatchId;
using pipeline::MicrobatchOps;
using pipeline::OpId;
using pipeline::OpKind;
using pipeline::OpLabel;
using pipeline::Order;
using pipeline::Problem;
using pipeline::StoppedBy;

/// [kind] number of such ops that have run on a pipeline stage.
using Done = std::array<std::int32_t, pipeline::op_kinds>;

std::int32_t& count_of(Done& done, OpKind kind) { return done[static_cast<std::size_t>(kind)]; }
std::int32_t count_of(const Done& done, OpKind kind) { return done[static_cast<std::size_t>(kind)]; }

/// Appends the counterpart of `label` in the lowering: the next op of that kind, or the next I and W.
void append(std::vector<OpId>& sequence, const Lowering& lowering, OpLabel label, Done& done) {
  const MicrobatchOps& ops = lowering.ops(lowering.pipeline_of(label), label.stage, MicrobatchId(0));
  const bool split = ops.weight_gradient != ops.backward;
  const auto append_next = [&](OpKind kind) {
    label.kind = kind;
    label.microbatch = MicrobatchId(count_of(done, kind)++);
    sequence.push_back(lowering.find(label));
  };
  if (!split || pipeline::traits_of(label.kind).backward != pipeline::BackwardPart::whole)
    return append_next(label.kind);
  for (const pipeline::OpTraits& traits : pipeline::op_table)
    if (traits.backward == pipeline::BackwardPart::half) append_next(traits.kind);
}

/// Appends optimizer steps after those mini-batches of a schedule that have none. A problem of one mini-batch omits
/// steps of zero duration.
void append_missing_steps(pipeline::Order& order, const Lowering& lowering, const std::vector<Done>& before,
                          std::vector<Done>& done) {
  for (std::size_t stage = 0; stage < lowering.steps.size(); ++stage) {
    const auto ran = [&](OpKind kind) { return count_of(done[stage], kind) > count_of(before[stage], kind); };
    if (lowering.steps[stage].empty() || !ran(OpKind::F) || ran(OpKind::S)) continue;
    const OpId step = lowering.steps[stage][static_cast<std::size_t>(count_of(done[stage], OpKind::S)++)];
    order.devices[lowering.graph.device[step.index()].index()].push_back(step);
  }
}

}  // namespace

pipeline::Order search_order(const Lowering& lowering, const std::vector<ModelOrder>& parts) {
  std::vector<Done> done(lowering.microbatch_begin.size());
  pipeline::Order order;
  order.devices.resize(static_cast<std::size_t>(lowering.graph.devices));
  for (const ModelOrder& part : parts) {
    const std::vector<Done> before = done;
    for (std::size_t device = 0; device < order.devices.size(); ++device) {
      for (const OpId op : part.solution->order.devices[device]) {
        OpLabel label = part.solution->graph.labels[op.index()];
        label.model = pipeline::ModelId(part.models[label.model.index()]);
        const auto stage = lowering.pipeline_stage(lowering.pipeline_of(label), label.stage);
        append(order.devices[device], lowering, label, done[static_cast<std::size_t>(stage)]);
      }
    }
    append_missing_steps(order, lowering, before, done);
  }
  return order;
}

pipeline::Order search_order(const Lowering& lowering, const Solution& solution) {
  std::vector<std::int32_t> models(solution.problem.models.size());
  std::iota(models.begin(), models.end(), 0);
  return search_order(lowering, {{&solution, std::move(models)}});
}

namespace {

/// Returns each device's limit on activation beyond its resident memory; empty if nothing is limited. For the minimum
/// peak, the limit is that peak. It is known from running one micro-batch at a time, so only the makespan is left to
/// minimize.
std::vector<std::int64_t> headroom_of(const Problem& problem, const SolveOptions& options) {
  const bool min_peak = options.objective == Objective::memory && !options.deadline;
  if (!min_peak && !options.memory_cap && !problem.capacity) return {};
  const Memory most = min_peak ? peak_activation_bound(problem) : Memory::max();
  std::vector<std::int64_t> headroom;
  for (const Memory here : pipeline::headroom_of(problem, options.memory_cap))
    headroom.push_back(std::min(here, most).count());
  return headroom;
}

/// More iterations than any time limit allows, but small enough to multiply.
constexpr double max_iterations = 1e15;

/// Length of a search.
struct Plan {
  std::int64_t iterations;        ///< iterations of each chain
  double robustness_seconds = 0;  ///< time reserved for the robustness phase
};

class Search {
 public:
  Search(const Problem& problem, const SolveOptions& options, const Lowering& lowering,
         const std::vector<Order>& starts, const Plan& plan)
      : problem_(problem),
        options_(options),
        lowering_(lowering),
        headroom_(headroom_of(problem, options)),
        scale_(scale_of(lowering.graph)),
        goal_(std::max(bounds_of(problem).makespan, options.deadline.value_or(Ticks(0))).count()),
        rounds_(lowering.graph, starts, options, plan.iterations),
        robustness_seconds_(plan.robustness_seconds) {
    rounds_.is_better = [this](const ChainBest& a, const ChainBest& b) { return key_of(a) < key_of(b); };
    rounds_.on_better = [this](const ChainBest& chain_best) {
      if (options_.on_better) options_.on_better(solution_of(chain_best));
    };
  }

  /// `free` are orders that need not fit, the shortest first.
  void run(const std::vector<Order>& free) {
    shorten_and_lower(free);
    finish_robustly();
  }

  void shorten_and_lower(const std::vector<Order>& free) {
    const bool min_peak = options_.objective == Objective::memory && !options_.deadline;
    if (!headroom_.empty() && !min_peak && min_makespan() > goal_)
      free_ = tighten(rounds_, lowering_.graph, free, {headroom_, goal_, options_.seed, rounds_.planned()});
    shorten_all();
    if (!rounds_.stopped()) lower_all();
  }

  /// Runs the robustness phase, whose duration does not depend on the iterations.
  void finish_robustly() {
    if (options_.brief && options_.robustness_percent == 0) return;
    if (!rounds_.stopped() && lowering_.graph.size() <= max_ops_for_robustness) improve_robustness();
  }

  /// Iterations per second of each chain, measured in the second phase if it ran without capacities: the first phase
  /// ends early if it meets its bound.
  double speed() const {
    return speed_.value_or(static_cast<double>(rounds_.done()) / std::max(1e-6, rounds_.seconds()));
  }

  Solution answer() const {
    Solution solution = solution_of(rounds_.chain_bests()[rounds_.best()]);
    solution.lost_process = rounds_.lost();
    return solution;
  }

 private:
  static constexpr std::size_t max_ops_for_robustness = 50'000;
  static constexpr double brief_seconds = 1;  // a shorter time limit leaves no time for a costly proof

  std::tuple<std::int64_t, std::int64_t, std::int64_t> key_of(const ChainBest& chain_best) const {
    if (options_.robustness_percent > 0 && is_robustness_phase_) return {chain_best.score, chain_best.peak, 0};
    return {std::max(chain_best.makespan, goal_), chain_best.peak, chain_best.score};
  }

  bool met() const {
    const ChainBest& best = rounds_.chain_bests()[rounds_.best()];
    return best.makespan <= goal_ && best.peak <= peak_target_;
  }

  Solution solution_of(const ChainBest& chain_best) const {
    auto evaluation = pipeline::evaluate(lowering_.graph, chain_best.order);
    Solution solution{problem_, {}, lowering_.graph, chain_best.order, std::move(evaluation).value(), {}};
    solution.solver = {"search", options_.seed, options_.chains, rounds_.planned()};
    solution.stopped_by = met() ? StoppedBy::bound : rounds_.stopped().value_or(StoppedBy::iterations);
    return solution;
  }

  std::int64_t ops() const { return static_cast<std::int64_t>(lowering_.graph.size()); }

  std::int64_t min_makespan() const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const ChainBest& chain_best : rounds_.chain_bests()) least = std::min(least, chain_best.makespan);
    return least;
  }

  /// Runs coolings in half of the remaining iterations.
  void shorten_all() {
    const std::vector<std::int64_t> lengths = makespan_coolings(ops(), (rounds_.planned() - rounds_.done()) / 2);
    for (std::size_t cooling = 0; cooling < lengths.size(); ++cooling) {
      if (rounds_.stopped() || min_makespan() <= goal_) return;
      depends_on_plan_ = cooling + 1 == lengths.size();
      std::vector<MakespanDescent> descents;
      for (std::size_t own = 0; own < rounds_.chains().size(); ++own) {
        const std::size_t turn = static_cast<std::size_t>(rounds_.number(own)) + cooling;
        descents.push_back(headroom_.empty() ? makespan_descent(scale_, turn, lengths[cooling])
                                             : limited_makespan_descent(scale_, turn, lengths[cooling]));
        rounds_.chains()[own].walk.reset(rounds_.chains()[own].best);
      }
      rounds_.run_rounds(
          "makespan", lengths[cooling], [this] { return min_makespan() <= goal_; },
          [&](std::size_t own, std::int64_t count) {
            shorten(rounds_.chains()[own], descents[own], count, goal_, headroom_);
          });
    }
  }

  void lower_all() {
    const std::int64_t deadline = std::max(goal_, min_makespan());
    const ChainBest& best = rounds_.chain_bests()[rounds_.best()];
    BoundOptions proof;
    proof.work = options_.proof_work;
    if (options_.time_limit_seconds && *options_.time_limit_seconds < brief_seconds) proof.work = 0;
    proof.known_peak = Memory(best.peak);
    if (!options_.is_shared()) proof.cancellation = options_.cancellation;  // all processes need the same target
    peak_target_ = peak_activation_bound(problem_, Ticks(deadline), proof).count();
    rounds_.gather([deadline](const ChainBest& chain_best) { return chain_best.makespan <= deadline; }, rounds_.best());
    const bool chosen_by_time = !options_.iterations && options_.time_limit_seconds && !options_.is_shared();
    // The work so far must not have depended on the number of planned iterations.
    const bool depended = !headroom_.empty() || depends_on_plan_;
    const std::int64_t done = rounds_.done();
    const double seconds = rounds_.seconds();
    const auto speed = [&] {
      return static_cast<double>(rounds_.done() - done) / std::max(1e-6, rounds_.seconds() - seconds);
    };
    lower_peaks(rounds_, lowering_.graph, {deadline, peak_target_, limits_of_descents(), starts_of_descents(deadline)},
                [&] {
                  if (chosen_by_time && !depended) plan_by_speed(speed());
                });
    if (headroom_.empty() && rounds_.done() > done) speed_ = speed();
  }

  /// Returns the capacities for walks that only lower peaks. Empty if all chains are within the smallest limit: such
  /// a peak fits on every device, and a walk moves better if it may hold more on the way.
  std::vector<std::int64_t> limits_of_descents() const {
    const auto fits_anywhere = [this](const ChainBest& chain_best) {
      return chain_best.peak <= *std::min_element(headroom_.begin(), headroom_.end());
    };
    const auto& chain_bests = rounds_.chain_bests();
    if (!headroom_.empty() && std::all_of(chain_bests.begin(), chain_bests.end(), fits_anywhere)) return {};
    return headroom_;
  }

  /// Returns the starts of the peak reduction. If it has no limits, chains start from the schedules found without a
  /// capacity: from a low peak they would see only its vicinity.
  std::vector<Order> starts_of_descents(std::int64_t deadline) {
    std::vector<Order> starts;
    if (free_.empty() || !limits_of_descents().empty()) return starts;
    for (std::size_t own = 0; own < free_.size(); ++own)
      starts.push_back(free_[own].makespan <= deadline ? free_[own].order : rounds_.chains()[own].best);
    return starts;
  }

  /// Plans the iterations per chain that the time limit allows at `speed` (per second), if that is more. A run with as
  /// many iterations then does the same.
  void plan_by_speed(double speed) {
    constexpr double margin = 0.93;
    const double seconds_left = margin * *options_.time_limit_seconds - rounds_.seconds() - robustness_seconds_;
    const double left = std::max(0.0, seconds_left) * speed;
    rounds_.plan(
        std::max(rounds_.planned(), rounds_.done() + static_cast<std::int64_t>(std::min(left, max_iterations))));
  }

  /// Finds the most robust of the equally good schedules. With a weight for robustness, finds the best-rated schedule
  /// at the makespan found and at slightly later deadlines.
  void improve_robustness() {
    constexpr int samples = 3;  // per chain and round
    const int rounds = options_.robustness_percent > 0 ? 16 : 4;
    constexpr std::int64_t later_percent[] = {0, 1, 2, 4};
    const std::int64_t iterations = 20 * ops();
    const ChainBest best = rounds_.chain_bests()[rounds_.best()];
    rounds_.gather(
        [&](const ChainBest& chain_best) {
          return chain_best.makespan == best.makespan && chain_best.peak == best.peak;
        },
        rounds_.best());
    const RobustnessMeasure measure{options_.robustness_percent, 200, options_.seed};
    rounds_.run("robustness", 0, [&](std::size_t own) {
      Chain& chain = rounds_.chains()[own];
      chain.best_score = robustness(lowering_.graph, chain.best, chain.best_makespan, measure);
    });
    is_robustness_phase_ = true;
    for (int round = 0; round < rounds && !rounds_.stopped(); ++round)
      rounds_.run("robustness", 0, [&](std::size_t own) {
        const std::int64_t later =
            options_.robustness_percent > 0
                ? later_percent[static_cast<std::size_t>(rounds_.number(own)) % std::size(later_percent)]
                : 0;
        const std::int64_t deadline = best.makespan + best.makespan / 100 * later;
        walk_for_robustness(rounds_.chains()[own], lowering_.graph, deadline, best.peak, headroom_, measure, samples,
                            iterations);
      });
  }

  const Problem& problem_;
  const SolveOptions& options_;
  const Lowering& lowering_;
  const std::vector<std::int64_t> headroom_;
  const Scale scale_;
  const std::int64_t goal_;  // smaller makespans count as equal
  Rounds rounds_;
  std::vector<FreeSchedule> free_;  // [own chain] schedules that tightening found; empty if it did not run
  const double robustness_seconds_;
  std::optional<double> speed_;
  bool depends_on_plan_ = false;
  std::int64_t peak_target_ = 0;
  bool is_robustness_phase_ = false;
};

/// Orders to start from, the best first. Several are needed: the same bound may be unreachable from one start and
/// immediate from another.
struct Starts {
  std::vector<Order> fitting;  // equally good with regard to capacity and objective
  std::vector<Order> free;     // ordered by makespan only
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
    // If nothing fits, only the first has the least excess, and no walk exceeds it. A schedule twice as long as the
    // best is not a useful start, such as one micro-batch at a time when memory is unlimited.
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

/// About ten seconds on two ordinary cores with the default chains. In loose schedules a swap moves many ops, so
/// iterations take longer.
std::int64_t iterations_for(std::int64_t ops, bool loose) {
  const std::int64_t most = loose ? 20'000'000 : 80'000'000;
  constexpr std::int64_t ops_in_fast_memory = 2'000;
  return std::max<std::int64_t>(1'000'000, most / std::max(ops, ops_in_fast_memory) * ops_in_fast_memory);
}

/// Plans slightly less than `seconds` on this machine, from a short trial. A run that its time limit stops cannot be
/// reproduced from its iterations.
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
  search.finish_robustly();
  const double spent = base::seconds_since(begin);
  const int lanes = options.threads * (options.exchange ? options.exchange->ranks : 1);
  const int chains_per_lane = (options.chains + lanes - 1) / lanes;
  // Chains differ in speed. Without capacities, remaining time is planned again.
  const double margin = headroom_of(problem, options).empty() ? 0.7 : 0.85;
  Plan plan{fewest, (spent - walked) * chains_per_lane};
  const double left = margin * std::max(0.0, seconds - spent) - plan.robustness_seconds;
  const double iterations = std::max(0.0, left) * search.speed() / chains_per_lane;
  plan.iterations = static_cast<std::int64_t>(std::clamp(iterations, static_cast<double>(fewest), max_iterations));
  return plan;
}

}  // namespace

Solution search_from(const Problem& problem, std::vector<Solution> starts, const SolveOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  const Starts orders = starts_of(problem, std::move(starts), options, lowering);
  SolveOptions settled = options;
  Plan plan{options.iterations.value_or(iterations_for(static_cast<std::int64_t>(lowering.graph.size()),
                                                       options.deadline || !headroom_of(problem, options).empty()))};
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
  // A pattern adapted to the time limit would be a start that cannot be reproduced from the iterations. So the time
  // limit only stops the construction of starts.
  const parallel::Cancellation in_time(options.cancellation, options.time_limit_seconds);
  SolveOptions settled = options;
  settled.time_limit_seconds.reset();
  settled.cancellation = &in_time;
  StopRequest stop(settled);
  for (const auto solve : {solve_one_at_a_time, solve_pattern, solve_list, solve_greedy, solve_fused_1f1b}) {
    // The first construction is too fast to interrupt, and one start is required.
    if (!starts.empty() && stop.poll()) break;
    Answer answer = NotApplicable{};
    if (!stop.completes([&] { answer = solve(problem, settled); }) && !starts.empty()) continue;
    if (auto* solution = std::get_if<Solution>(&answer)) starts.push_back(std::move(*solution));
  }
  // There is only time for the best of the starts, which one chain can hold.
  if (!settled.is_shared() && in_time.requested()) settled.chains = 1;
  settled.cancellation = options.cancellation;
  if (options.time_limit_seconds)
    settled.time_limit_seconds = std::max(0.0, *options.time_limit_seconds - base::seconds_since(begin));
  return search_from(problem, std::move(starts), settled);
}

}  // namespace dovetail::fuse
