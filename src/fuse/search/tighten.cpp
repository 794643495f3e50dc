#include "fuse/search/tighten.h"

#include <algorithm>
#include <utility>

#include "fuse/search/heat.h"
#include "fuse/search/peak_cycles.h"

namespace dovetail::fuse {
namespace {

using pipeline::Order;

std::int64_t min_makespan(const Rounds& rounds) {
  const auto shorter = [](const Standing& a, const Standing& b) { return a.makespan < b.makespan; };
  return std::min_element(rounds.standings().begin(), rounds.standings().end(), shorter)->makespan;
}

/// The chains that start without capacities. Their levels count from a floor that makes all rooms equal to the largest.
std::vector<Chain> free_chains(Rounds& rounds, const pipeline::OpGraph& graph, const std::vector<Order>& free,
                               const TighteningGoal& goal, std::int64_t max_room) {
  std::vector<std::int64_t> floor;
  for (const std::int64_t room : goal.room) floor.push_back(max_room - room);
  std::vector<Chain> chains;
  for (std::size_t own = 0; own < rounds.chains().size(); ++own) {
    const auto number = static_cast<std::size_t>(rounds.number(own));
    // Streams of their own, apart from those of the chains.
    chains.push_back(chain_from(graph, free[number % free.size()], goal.seed, (std::uint64_t{1} << 32) + number));
    chains.back().walk.set_floor(floor);
  }
  return chains;
}

/// `iterations` of each chain, or until it is as short as `target`.
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
             std::int64_t max_room)
      : rounds_(rounds),
        goal_(goal),
        max_room_(max_room),
        cycles_(rounds, graph, walkers_of(std::move(free)),
                {"capacity",
                 max_room,
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
    // Where that nearly fits, longer cycles may, or what is near their best.
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

  /// Whether some chain's lowest is not much more than what fits.
  bool is_near() const {
    constexpr std::int64_t near_percent = 6;
    const auto lower = [](const Standing& a, const Standing& b) { return a.score < b.score; };
    const std::int64_t lowest = std::min_element(rounds_.standings().begin(), rounds_.standings().end(), lower)->score;
    return lowest <= max_room_ + max_room_ / 100 * near_percent;
  }

  bool is_met() const { return min_makespan(rounds_) <= deadline_; }

  /// What is not as short keeps to its own makespan.
  void set_deadline(std::int64_t deadline) {
    deadline_ = deadline;
    for (std::size_t own = 0; own < shortest_.size(); ++own)
      cycles_.walkers()[own].deadline = std::max(deadline, shortest_[own].makespan);
  }

  void take_over(std::size_t own, const Chain& walker) {
    Chain& chain = rounds_.chains()[own];
    if (walker.best_peak < chain.best_score) {
      // All processes are to know the lowest: meanwhile it is the score.
      chain.best_score = walker.best_peak;
      lowest_[own] = walker.best;
    }
    if (walker.best_peak > max_room_ || walker.best_makespan > chain.best_makespan) return;
    // Without the floor the peak is another.
    chain.walk.reset(walker.best);
    if (walker.best_makespan < chain.best_makespan || chain.walk.peak() < chain.best_peak) record(chain);
  }

  Rounds& rounds_;
  const TighteningGoal& goal_;
  const std::int64_t max_room_;
  std::int64_t deadline_ = 0;
  PeakCycles cycles_;
  std::vector<FreeSchedule> shortest_;
  std::vector<Order> lowest_;  // [own chain] what holds least without capacities, while the goal is attempted
};

}  // namespace

std::vector<FreeSchedule> tighten(Rounds& rounds, const pipeline::OpGraph& graph, const std::vector<Order>& free,
                                  const TighteningGoal& goal) {
  const std::int64_t max_room = *std::max_element(goal.room.begin(), goal.room.end());
  std::vector<Chain> chains = free_chains(rounds, graph, free, goal, max_room);
  shorten_freely(rounds, graph, chains, goal.iterations / 18, goal.makespan);
  Tightening tighten(rounds, graph, std::move(chains), goal, max_room);
  tighten.run();
  return std::move(tighten).shortest();
}

}  // namespace dovetail::fuse
