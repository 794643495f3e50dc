#include "fuse/search/squeeze.h"

#include <algorithm>
#include <utility>

#include "fuse/search/heat.h"

namespace dovetail::fuse {
namespace {

using pipeline::Order;

/// A chain's walk without capacities, and the shortest schedule that it found.
struct FreeChain {
  Chain chain;
  Order shortest;
};

std::int64_t least_makespan(const Rounds& rounds) {
  const auto shorter = [](const Standing& a, const Standing& b) { return a.makespan < b.makespan; };
  return std::min_element(rounds.standings().begin(), rounds.standings().end(), shorter)->makespan;
}

class Squeeze {
 public:
  Squeeze(Rounds& rounds, const pipeline::OpGraph& graph, const std::vector<Order>& free, const SqueezeGoal& goal)
      : rounds_(rounds), goal_(goal), scale_(scale_of(graph)), most_room_(*std::max_element(goal.room.begin(), goal.room.end())) {
    // Levels count from a floor that makes all rooms equal.
    std::vector<std::int64_t> floor;
    for (const std::int64_t room : goal.room) floor.push_back(most_room_ - room);
    for (std::size_t own = 0; own < rounds.chains().size(); ++own) {
      const auto number = static_cast<std::size_t>(rounds.number(own));
      const Order& start = free[number % free.size()];
      // Streams of their own, apart from those of the chains.
      Chain chain = chain_from(graph, start, goal.seed, (std::uint64_t{1} << 32) + number);
      chain.walk.set_floor(floor);
      free_.push_back({std::move(chain), start});
    }
  }

  void run() {
    shorten_free(goal_.iterations / 6);
    std::int64_t too_short = goal_.makespan - 1;
    std::int64_t deadline = goal_.makespan;
    std::int64_t length = goal_.iterations / 3;
    while (!rounds_.stopped() && rounds_.done() + length <= goal_.iterations && length > 0) {
      if (!attempt(deadline, length)) too_short = deadline;
      const std::int64_t shortest = least_makespan(rounds_);
      deadline = too_short + (shortest - too_short) / 2;
      if (deadline <= too_short || deadline >= shortest) return;
      length = goal_.iterations / 12;
    }
  }

 private:
  void shorten_free(std::int64_t length) {
    std::vector<MakespanDescent> descents;
    for (std::size_t own = 0; own < free_.size(); ++own)
      descents.push_back(makespan_descent(scale_, static_cast<std::size_t>(rounds_.number(own)), length));
    rounds_.run_rounds(
        "makespan", length, [] { return false; },
        [&](std::size_t own, std::int64_t count) { shorten(free_[own].chain, descents[own], count, goal_.makespan, {}); });
    for (FreeChain& free : free_) free.shortest = free.chain.best;
  }

  /// One cooling at the deadline, or at the chain's shortest where that is later. Whether a schedule within it fits.
  bool attempt(std::int64_t deadline, std::int64_t length) {
    std::vector<PeakDescent> descents;
    for (FreeChain& free : free_) {
      free.chain.walk.reset(free.shortest);
      record(free.chain);
      const std::int64_t own_deadline = std::max(deadline, free.chain.best_makespan);
      descents.push_back(descent_from(free.chain, peak_cooling(scale_, fresh_heat(0), length), own_deadline, cap_step(scale_), {}));
    }
    rounds_.run_rounds(
        "capacity", length, [&] { return least_makespan(rounds_) <= deadline; },
        [&](std::size_t own, std::int64_t count) {
          lower_peak(free_[own].chain, descents[own], count, most_room_);
          take_over(own);
        });
    return least_makespan(rounds_) <= deadline;
  }

  void take_over(std::size_t own) {
    const Chain& free = free_[own].chain;
    Chain& chain = rounds_.chains()[own];
    if (free.best_peak > most_room_ || free.best_makespan >= chain.best_makespan) return;
    chain.walk.reset(free.best);
    record(chain);
  }

  Rounds& rounds_;
  const SqueezeGoal& goal_;
  const Scale scale_;
  const std::int64_t most_room_;
  std::vector<FreeChain> free_;
};

}  // namespace

void squeeze(Rounds& rounds, const pipeline::OpGraph& graph, const std::vector<Order>& free, const SqueezeGoal& goal) {
  Squeeze(rounds, graph, free, goal).run();
}

}  // namespace dovetail::fuse
