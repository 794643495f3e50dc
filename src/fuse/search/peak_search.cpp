#include "fuse/search/peak_search.h"

#include <algorithm>
#include <utility>

#include "fuse/search/peak_cycles.h"

namespace dovetail::fuse {
namespace {

std::int64_t best_peak(const Rounds& rounds) { return rounds.standings()[rounds.best()].peak; }

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

/// Reheats in all that is left, each about `length`. Chains whose best is far from the best of all go on from that one.
void refine(Rounds& rounds, PeakCycles& cycles, std::int64_t length) {
  const std::int64_t left = rounds.planned() - rounds.done();
  if (left <= 0) return;
  constexpr std::int64_t near_percent = 1;
  const std::int64_t near = best_peak(rounds) + best_peak(rounds) / 100 * near_percent;
  rounds.gather([near](const Standing& standing) { return standing.peak <= near; }, rounds.best());
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
      {"peak", goal.target, goal.room,
       [&rounds](std::size_t own, const Chain& walker) { take_lower(rounds.chains()[own], walker); }, is_met});
  const std::int64_t begin = rounds.done();
  const std::int64_t length = cycles.run([&] { return begin + (rounds.planned() - begin) / 4 * 3; }, plan_again);
  if (!rounds.stopped() && !is_met()) refine(rounds, cycles, length / 2);
}

}  // namespace dovetail::fuse
