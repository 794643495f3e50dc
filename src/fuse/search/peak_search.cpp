#include "fuse/search/peak_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "fuse/search/heat.h"

namespace dovetail::fuse {
namespace {

using pipeline::Order;

/// Proposals per op in the first cooling. The number doubles with every second cooling.
constexpr std::int64_t first_cooling = 5'000;
/// Swaps per op that loosen a schedule before some of the coolings.
constexpr std::int64_t loosening = 300;
/// Loosening takes at most as many swaps as the run has iterations, or this many if that is more.
constexpr std::int64_t loosening_at_least = 2'000'000;
/// Number of reheats after each cooling, each half as long.
constexpr int reheats = 2;

std::int64_t cost_of_cycle(std::int64_t length) { return length + reheats * (length / 2); }

}  // namespace

PeakCycles::PeakCycles(Rounds& rounds, const pipeline::OpGraph& graph, std::vector<PeakWalker> walkers,
                       PeakCyclesTask task)
    : rounds_(rounds),
      scale_(scale_of(graph)),
      ops_(static_cast<std::int64_t>(graph.size())),
      walkers_(std::move(walkers)),
      task_(std::move(task)) {}

std::int64_t PeakCycles::run(const std::function<std::int64_t()>& until, const std::function<void()>& after_cycle) {
  const auto fits = [&](std::int64_t length) { return rounds_.done() + cost_of_cycle(length) <= until(); };
  const auto length_of_next = [&] { return (first_cooling * ops_) << (cycles_done_ / 2); };
  std::int64_t length = length_of_next();
  if (!fits(length)) {
    length = (until() - rounds_.done()) / 3;
    cycle(cycles_done_, length);
    return length;
  }
  for (; fits(length) && !is_over(); length = length_of_next()) {
    cycle(cycles_done_++, length);
    after_cycle();
  }
  return length;
}

void PeakCycles::cool(std::size_t turn, std::int64_t length) {
  descend(length, [&](std::size_t own) {
    PeakWalker& walker = walkers_[own];
    restart(walker.chain, walker.start);
    // Some problems are solved far better with prompt swaps only, others without. And from a low peak a walk sees only
    // its vicinity, unless it first wanders among all schedules within the deadline. So chains alternate.
    const bool prompt = (number(own) + turn / 4) % 2 == 1;
    if (prompt) loosen(walker, length);
    return descent(walker, fresh_heat(number(own) + turn), length, prompt);
  });
}

void PeakCycles::reheat(std::size_t turn, std::int64_t length) {
  descend(length, [&](std::size_t own) {
    Chain& chain = walkers_[own].chain;
    chain.walk.reset(chain.best);
    return descent(walkers_[own], reheat_heat(number(own) + turn), length, false);
  });
}

void PeakCycles::cycle(std::size_t turn, std::int64_t length) {
  cool(turn, length);
  for (std::size_t repeat = 0; repeat < reheats && !is_over(); ++repeat) reheat(turn + repeat, length / 2);
}

void PeakCycles::loosen(PeakWalker& walker, std::int64_t length) const {
  const std::vector<std::int64_t> no_limit(static_cast<std::size_t>(walker.chain.walk.devices()),
                                           std::numeric_limits<std::int64_t>::max());
  const std::int64_t most = rounds_.brief() ? length : std::max(rounds_.planned(), loosening_at_least);
  const std::vector<std::int64_t>& limit = task_.headroom.empty() ? no_limit : task_.headroom;
  constexpr std::int64_t slice = 100'000;
  for (std::int64_t left = std::min(loosening * ops_, most); left > 0 && !rounds_.interrupted(); left -= slice)
    wander(walker.chain, std::min(left, slice), walker.deadline, limit);
}

PeakDescent PeakCycles::descent(const PeakWalker& walker, double heat, std::int64_t length, bool prompt) const {
  PeakDescent descent =
      descent_from(walker.chain, peak_cooling(scale_, heat, length), walker.deadline, cap_step(scale_), task_.headroom);
  descent.prompt = prompt;
  return descent;
}

void PeakCycles::descend(std::int64_t length, const std::function<PeakDescent(std::size_t own)>& begin) {
  std::vector<std::optional<PeakDescent>> descents(walkers_.size());
  rounds_.run_rounds(task_.phase, length, task_.is_over, [&](std::size_t own, std::int64_t count) {
    if (!descents[own]) descents[own] = begin(own);
    lower_peak(walkers_[own].chain, *descents[own], count, task_.target);
    task_.take_over(own, walkers_[own].chain);
  });
}

namespace {

std::int64_t best_peak(const Rounds& rounds) { return rounds.chain_bests()[rounds.best()].peak; }

void take_lower(Chain& chain, const Chain& walker) {
  if (walker.best_peak >= chain.best_peak) return;
  chain.best = walker.best;
  chain.best_makespan = walker.best_makespan;
  chain.best_peak = walker.best_peak;
}

std::vector<PeakWalker> walkers_of(Rounds& rounds, const PeakGoal& goal) {
  std::vector<PeakWalker> walkers;
  for (std::size_t own = 0; own < rounds.chains().size(); ++own) {
    const Chain& chain = rounds.chains()[own];
    walkers.push_back({chain, goal.starts.empty() ? chain.best : goal.starts[own], goal.deadline});
  }
  return walkers;
}

/// Spends the remaining iterations on reheats of about `length` each. Chains far from the overall best continue from
/// that one.
void refine(Rounds& rounds, PeakCycles& cycles, std::int64_t length) {
  const std::int64_t left = rounds.planned() - rounds.done();
  if (left <= 0) return;
  constexpr std::int64_t near_percent = 1;
  const std::int64_t near = best_peak(rounds) + best_peak(rounds) / 100 * near_percent;
  rounds.gather([near](const ChainBest& chain_best) { return chain_best.peak <= near; }, rounds.best());
  for (std::size_t own = 0; own < rounds.chains().size(); ++own)
    restart(cycles.walkers()[own].chain, rounds.chains()[own].best);
  const std::int64_t count = std::max<std::int64_t>(1, left / std::max<std::int64_t>(1, length));
  for (std::int64_t turn = 0; turn < count; ++turn)
    cycles.reheat(static_cast<std::size_t>(turn), turn + 1 < count ? left / count : rounds.planned() - rounds.done());
}

}  // namespace

void lower_peaks(Rounds& rounds, const pipeline::OpGraph& graph, const PeakGoal& goal,
                 const std::function<void()>& plan_again) {
  const auto is_met = [&] { return best_peak(rounds) <= goal.target; };
  PeakCycles cycles(
      rounds, graph, walkers_of(rounds, goal),
      {"peak", goal.target, goal.headroom,
       [&rounds](std::size_t own, const Chain& walker) { take_lower(rounds.chains()[own], walker); }, is_met});
  const std::int64_t begin = rounds.done();
  const std::int64_t length = cycles.run([&] { return begin + (rounds.planned() - begin) / 4 * 3; }, plan_again);
  if (!rounds.stopped() && !is_met()) refine(rounds, cycles, length / 2);
}

namespace {

std::int64_t min_makespan(const Rounds& rounds) {
  const auto shorter = [](const ChainBest& a, const ChainBest& b) { return a.makespan < b.makespan; };
  return std::min_element(rounds.chain_bests().begin(), rounds.chain_bests().end(), shorter)->makespan;
}

/// Creates the chains that start without capacities. Each device's levels count from a floor, so that all memory
/// limits equal the largest.
std::vector<Chain> free_chains(Rounds& rounds, const pipeline::OpGraph& graph, const std::vector<Order>& free,
                               const TighteningGoal& goal, std::int64_t max_headroom) {
  std::vector<std::int64_t> floor;
  for (const std::int64_t headroom : goal.headroom) floor.push_back(max_headroom - headroom);
  std::vector<Chain> chains;
  for (std::size_t own = 0; own < rounds.chains().size(); ++own) {
    const auto number = static_cast<std::size_t>(rounds.number(own));
    // Random streams separate from those of the search's chains.
    chains.push_back(chain_from(graph, free[number % free.size()], goal.seed, (std::uint64_t{1} << 32) + number));
    chains.back().walk.set_floor(floor);
  }
  return chains;
}

/// Runs `iterations` of each chain, or fewer if it reaches `target`.
void shorten_freely(Rounds& rounds, const pipeline::OpGraph& graph, std::vector<Chain>& chains, std::int64_t iterations,
                    std::int64_t target) {
  const Scale scale = scale_of(graph);
  const std::vector<std::int64_t> lengths = makespan_coolings(static_cast<std::int64_t>(graph.size()), iterations);
  for (std::size_t cooling = 0; cooling < lengths.size(); ++cooling) {
    std::vector<MakespanDescent> descents;
    for (std::size_t own = 0; own < chains.size(); ++own) {
      descents.push_back(
          makespan_descent(scale, static_cast<std::size_t>(rounds.number(own)) + cooling, lengths[cooling]));
      chains[own].walk.reset(chains[own].best);
    }
    rounds.run_rounds(
        "makespan", lengths[cooling], [] { return false; },
        [&](std::size_t own, std::int64_t count) { shorten(chains[own], descents[own], count, target, {}); });
  }
}

class Tightening {
 public:
  Tightening(Rounds& rounds, const pipeline::OpGraph& graph, std::vector<Chain> free, const TighteningGoal& goal,
             std::int64_t max_headroom)
      : rounds_(rounds),
        goal_(goal),
        max_headroom_(max_headroom),
        cycles_(rounds, graph, walkers_of(std::move(free)),
                {"capacity",
                 max_headroom,
                 {},
                 [this](std::size_t own, const Chain& walker) { take_over(own, walker); },
                 [this] { return is_met(); }}) {
    for (const PeakWalker& walker : cycles_.walkers()) {
      shortest_.push_back({walker.start, walker.chain.best_makespan});
      lowest_.push_back(walker.start);
    }
  }

  void run() {
    const std::int64_t length = goal_.iterations / 36;
    attempt_goal(7 * length);
    // If that nearly fits, try longer cycles and the vicinity of the lowest peaks.
    if (!is_met() && is_near()) {
      attempt_goal(20 * length);
      reheat_lowest(4 * length);
      reheat_lowest(4 * length);
    }
    bisect(rounds_.done() + 5 * length, length);
    for (Chain& chain : rounds_.chains()) chain.best_score = no_score;
  }

  std::vector<FreeSchedule> shortest() && { return std::move(shortest_); }

 private:
  static std::vector<PeakWalker> walkers_of(std::vector<Chain> free) {
    std::vector<PeakWalker> walkers;
    for (Chain& chain : free) {
      Order start = chain.best;
      walkers.push_back({std::move(chain), std::move(start), 0});
    }
    return walkers;
  }

  void attempt_goal(std::int64_t until) {
    set_deadline(goal_.makespan);
    cycles_.run([until] { return until; }, [] {});
  }

  void reheat_lowest(std::int64_t length) {
    for (std::size_t own = 0; own < lowest_.size(); ++own) restart(cycles_.walkers()[own].chain, lowest_[own]);
    cycles_.reheat(0, length);
  }

  void bisect(std::int64_t until, std::int64_t length) {
    std::int64_t too_short = goal_.makespan - (is_met() ? 1 : 0);
    for (std::size_t turn = 0; !rounds_.stopped() && rounds_.done() + length <= until && length > 0; ++turn) {
      const std::int64_t shortest = min_makespan(rounds_);
      set_deadline(too_short + (shortest - too_short) / 2);
      if (deadline_ <= too_short || deadline_ >= shortest) return;
      cycles_.cool(turn, length);
      if (!is_met()) too_short = deadline_;
    }
  }

  /// Whether the lowest peak of some chain is not much above the limit.
  bool is_near() const {
    constexpr std::int64_t near_percent = 6;
    const auto lower = [](const ChainBest& a, const ChainBest& b) { return a.score < b.score; };
    const std::int64_t lowest =
        std::min_element(rounds_.chain_bests().begin(), rounds_.chain_bests().end(), lower)->score;
    return lowest <= max_headroom_ + max_headroom_ / 100 * near_percent;
  }

  bool is_met() const { return min_makespan(rounds_) <= deadline_; }

  /// Sets the deadline. Chains with longer schedules keep their own makespan as the deadline.
  void set_deadline(std::int64_t deadline) {
    deadline_ = deadline;
    for (std::size_t own = 0; own < shortest_.size(); ++own)
      cycles_.walkers()[own].deadline = std::max(deadline, shortest_[own].makespan);
  }

  void take_over(std::size_t own, const Chain& walker) {
    Chain& chain = rounds_.chains()[own];
    if (walker.best_peak < chain.best_score) {
      // The score temporarily carries the lowest peak, so that all processes know it.
      chain.best_score = walker.best_peak;
      lowest_[own] = walker.best;
    }
    if (walker.best_peak > max_headroom_ || walker.best_makespan > chain.best_makespan) return;
    // Without the floor the peak is different.
    chain.walk.reset(walker.best);
    if (walker.best_makespan < chain.best_makespan || chain.walk.peak() < chain.best_peak) record(chain);
  }

  Rounds& rounds_;
  const TighteningGoal& goal_;
  const std::int64_t max_headroom_;
  std::int64_t deadline_ = 0;
  PeakCycles cycles_;
  std::vector<FreeSchedule> shortest_;
  // [own chain] schedule with the lowest peak without capacities, during attempts at the goal
  std::vector<Order> lowest_;
};

}  // namespace

std::vector<FreeSchedule> tighten(Rounds& rounds, const pipeline::OpGraph& graph, const std::vector<Order>& free,
                                  const TighteningGoal& goal) {
  const std::int64_t max_headroom = *std::max_element(goal.headroom.begin(), goal.headroom.end());
  std::vector<Chain> chains = free_chains(rounds, graph, free, goal, max_headroom);
  shorten_freely(rounds, graph, chains, goal.iterations / 18, goal.makespan);
  Tightening tighten(rounds, graph, std::move(chains), goal, max_headroom);
  tighten.run();
  return std::move(tighten).shortest();
}

}  // namespace dovetail::fuse
