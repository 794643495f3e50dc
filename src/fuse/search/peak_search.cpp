#include "fuse/search/peak_search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

namespace dovetail::fuse {
namespace {

using pipeline::Order;

/// Proposals for each op of the first cooling; of every second one that follows twice as many.
constexpr std::int64_t first_cooling = 5'000;
/// Swaps for each op that loosen a schedule before some of the coolings.
constexpr std::int64_t loosening = 300;
/// After each cooling so many reheats, each half as long.
constexpr int reheats = 2;

std::int64_t cost_of_cycle(std::int64_t length) { return length + reheats * (length / 2); }

/// A chain's walk through a cycle: its best is the best of the cycle.
struct Walker {
  Chain chain;
  Order start;
};

class PeakSearch {
 public:
  PeakSearch(Rounds& rounds, const pipeline::OpGraph& graph, const PeakGoal& goal)
      : rounds_(rounds), goal_(goal), scale_(scale_of(graph)), ops_(static_cast<std::int64_t>(graph.size())) {
    for (const Chain& chain : rounds.chains()) walkers_.push_back({chain, chain.best});
  }

  void run(const std::function<void()>& plan_again) {
    const std::int64_t begin = rounds_.done();
    const auto fits = [&](std::int64_t length) {
      return rounds_.done() - begin + cost_of_cycle(length) <= (rounds_.planned() - begin) / 4 * 3;
    };
    std::int64_t length = first_cooling * ops_;
    if (!fits(length)) {
      length = (rounds_.planned() - begin) / 4;
      cycle(0, length);
    } else {
      for (std::size_t number = 0; fits(length) && !is_over(); length = (first_cooling * ops_) << (++number / 2)) {
        cycle(number, length);
        plan_again();
      }
    }
    refine(length / 2);
  }

 private:
  bool is_over() const { return rounds_.stopped() || best_peak() <= goal_.target; }

  std::int64_t best_peak() const { return rounds_.standings()[rounds_.best()].peak; }

  std::size_t number(std::size_t own) const { return static_cast<std::size_t>(rounds_.number(own)); }

  void cycle(std::size_t cycle, std::int64_t length) {
    cool(length, [&](std::size_t own) {
      Walker& walker = walkers_[own];
      walker.chain.walk.reset(walker.start);
      record(walker.chain);
      // Some problems are solved far better with prompt swaps alone, others without that; and from a low peak the walk sees only what
      // is near it, unless it first loses its way among all schedules in time. Chains take turns.
      const bool prompt = (number(own) + cycle / 4) % 2 == 1;
      if (prompt) loosen(walker.chain);
      return descent(walker.chain, fresh_heat(number(own) + cycle), length, prompt);
    });
    for (std::size_t reheat = 0; reheat < reheats && !is_over(); ++reheat) reheat_bests(cycle + reheat, length / 2);
  }

  /// Chains whose best is far from the best of all go on from that one.
  void refine(std::int64_t length) {
    const std::int64_t left = rounds_.planned() - rounds_.done();
    if (left <= 0 || is_over()) return;
    constexpr std::int64_t near_percent = 1;
    const std::int64_t near = best_peak() + best_peak() / 100 * near_percent;
    rounds_.gather([near](const Standing& standing) { return standing.peak <= near; }, rounds_.best());
    for (std::size_t own = 0; own < walkers_.size(); ++own) {
      walkers_[own].chain.walk.reset(rounds_.chains()[own].best);
      record(walkers_[own].chain);
    }
    const std::int64_t count = std::max<std::int64_t>(1, left / std::max<std::int64_t>(1, length));
    for (std::int64_t reheat = 0; reheat < count && !is_over(); ++reheat)
      reheat_bests(static_cast<std::size_t>(reheat), reheat + 1 < count ? left / count : rounds_.planned() - rounds_.done());
  }

  void reheat_bests(std::size_t reheat, std::int64_t length) {
    cool(length, [&](std::size_t own) {
      Chain& chain = walkers_[own].chain;
      chain.walk.reset(chain.best);
      return descent(chain, reheat_heat(number(own) + reheat), length, false);
    });
  }

  void loosen(Chain& chain) const {
    const std::vector<std::int64_t> no_limit(static_cast<std::size_t>(chain.walk.devices()), std::numeric_limits<std::int64_t>::max());
    wander(chain, loosening * ops_, goal_.deadline, goal_.room.empty() ? no_limit : goal_.room);
  }

  PeakDescent descent(const Chain& chain, double heat, std::int64_t length, bool prompt) const {
    PeakDescent descent = descent_from(chain, peak_cooling(scale_, heat, length), goal_.deadline, cap_step(scale_), goal_.room);
    descent.prompt = prompt;
    return descent;
  }

  void cool(std::int64_t length, const std::function<PeakDescent(std::size_t own)>& begin) {
    std::vector<std::optional<PeakDescent>> descents(walkers_.size());
    rounds_.run_rounds(
        "peak", length, [this] { return is_over(); },
        [&](std::size_t own, std::int64_t count) {
          if (!descents[own]) descents[own] = begin(own);
          lower_peak(walkers_[own].chain, *descents[own], count, goal_.target);
          take_over(own);
        });
  }

  void take_over(std::size_t own) {
    const Chain& walker = walkers_[own].chain;
    Chain& chain = rounds_.chains()[own];
    if (walker.best_peak >= chain.best_peak) return;
    chain.best = walker.best;
    chain.best_makespan = walker.best_makespan;
    chain.best_peak = walker.best_peak;
  }

  Rounds& rounds_;
  const PeakGoal& goal_;
  const Scale scale_;
  const std::int64_t ops_;
  std::vector<Walker> walkers_;
};

}  // namespace

void lower_peaks(Rounds& rounds, const pipeline::OpGraph& graph, const PeakGoal& goal, const std::function<void()>& plan_again) {
  PeakSearch(rounds, graph, goal).run(plan_again);
}

}  // namespace dovetail::fuse
