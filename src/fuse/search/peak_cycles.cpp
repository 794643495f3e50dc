#include "fuse/search/peak_cycles.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace dovetail::fuse {
namespace {

/// Proposals for each op of the first cooling; of every second one that follows twice as many.
constexpr std::int64_t first_cooling = 5'000;
/// Swaps for each op that loosen a schedule before some of the coolings.
constexpr std::int64_t loosening = 300;
/// No more of them than a run is long, unless they are few.
constexpr std::int64_t loosening_at_least = 2'000'000;
/// After each cooling so many reheats, each half as long.
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
    // Some problems are solved far better with prompt swaps alone, others without that; and from a low peak the walk
    // sees only what is near it, unless it first loses its way among all schedules in time. Chains take turns.
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
  const std::vector<std::int64_t>& limit = task_.room.empty() ? no_limit : task_.room;
  constexpr std::int64_t slice = 100'000;
  for (std::int64_t left = std::min(loosening * ops_, most); left > 0 && !rounds_.interrupted(); left -= slice)
    wander(walker.chain, std::min(left, slice), walker.deadline, limit);
}

PeakDescent PeakCycles::descent(const PeakWalker& walker, double heat, std::int64_t length, bool prompt) const {
  PeakDescent descent =
      descent_from(walker.chain, peak_cooling(scale_, heat, length), walker.deadline, cap_step(scale_), task_.room);
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

}  // namespace dovetail::fuse
