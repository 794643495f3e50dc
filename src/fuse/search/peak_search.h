// Peak reduction: how the chains of a search lower their peaks at a deadline, by cycles of coolings and reheats. Also
// tightening, which approaches a capacity from short schedules that hold too much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "fuse/search/heat.h"
#include "fuse/search/rounds.h"
#include "fuse/search/walk_phases.h"

namespace dovetail::fuse {

/// A chain that runs cycles. The chain's best is the best of the current cycle.
struct PeakWalker {
  Chain chain;
  pipeline::Order start;  ///< schedule from which each cycle starts
  std::int64_t deadline;  ///< not earlier than the makespan of the start
};

/// Goal of the cycles, and callbacks that use their results and end them.
struct PeakCyclesTask {
  std::string_view phase;              ///< name of the phase in progress reports
  std::int64_t target;                 ///< peak at which walkers may stop
  std::vector<std::int64_t> headroom;  ///< [device] capacity, or empty for none

  /// Called repeatedly during a cooling, with the index of a chain and its walker, so that the search can take over
  /// improvements.
  std::function<void(std::size_t own, const Chain& walker)> take_over;
  std::function<bool()> is_over;  ///< must give the same result in all processes
};

/// Cycles of coolings and reheats. No single heat suits all problems: each chain starts its cycles at a different heat
/// and changes it with every cycle.
class PeakCycles {
 public:
  /// One walker for each chain of `rounds`, which counts their iterations.
  PeakCycles(Rounds& rounds, const pipeline::OpGraph& graph, std::vector<PeakWalker> walkers, PeakCyclesTask task);

  std::vector<PeakWalker>& walkers() { return walkers_; }

  /// Runs whole cycles while they end before `rounds` has done until() iterations, and calls `after_cycle` after each.
  /// If not even one fits, runs a single shorter cycle instead. Cycles get longer, also across calls, because the
  /// required length is unknown. Returns the length of the next cycle's cooling, or of the shorter cycle.
  std::int64_t run(const std::function<std::int64_t()>& until, const std::function<void()>& after_cycle);

  /// Runs a cooling of `length` iterations of each walker from its start. `turn` selects the heat, and which chains
  /// make only prompt swaps.
  void cool(std::size_t turn, std::int64_t length);
  /// Runs a cooling of each walker from its best.
  void reheat(std::size_t turn, std::int64_t length);

 private:
  void cycle(std::size_t turn, std::int64_t length);
  void loosen(PeakWalker& walker, std::int64_t length) const;
  PeakDescent descent(const PeakWalker& walker, double heat, std::int64_t length, bool prompt) const;
  void descend(std::int64_t length, const std::function<PeakDescent(std::size_t own)>& begin);
  std::size_t number(std::size_t own) const { return static_cast<std::size_t>(rounds_.number(own)); }
  bool is_over() const { return rounds_.stopped() || task_.is_over(); }

  Rounds& rounds_;
  const Scale scale_;
  const std::int64_t ops_;
  std::vector<PeakWalker> walkers_;
  PeakCyclesTask task_;
  std::size_t cycles_done_ = 0;
};

/// Target and limits of lower_peaks().
struct PeakGoal {
  std::int64_t deadline;
  std::int64_t target;                 ///< a proven lower bound on the peak, at which the search ends
  std::vector<std::int64_t> headroom;  ///< [device] capacity, or empty for none

  /// [own chain] start of its cycles, within deadline and capacity; empty to start from its best
  std::vector<pipeline::Order> starts;
};

/// Lowers the peaks of the chains until `rounds` has done the planned iterations or the target is met. REQUIRES: each
/// chain's best is within the deadline.
///
/// Three quarters of the iterations go to cycles, the rest to reheats of the chains' best schedules.
///
/// `plan_again` is called after every whole cycle and may plan more iterations. The plan affects only where the cycles
/// end, not how they proceed.
void lower_peaks(Rounds& rounds, const pipeline::OpGraph& graph, const PeakGoal& goal,
                 const std::function<void()>& plan_again);

/// Target and limits of tighten().
struct TighteningGoal {
  const std::vector<std::int64_t>& headroom;  ///< [device] memory limit, in millionths
  std::int64_t makespan;                      ///< makespan at which tightening may stop
  std::uint64_t seed;
  std::int64_t iterations;  ///< iterations of each chain in the whole search
};

/// The shortest schedule without a capacity that a chain found.
struct FreeSchedule {
  pipeline::Order order;
  std::int64_t makespan;
};

/// Finds schedules within tight capacities, where ordinary walks hardly move. Returns the shortest free schedule of
/// each chain ([own]).
///
/// Each chain also shortens a schedule of `free` without a capacity, then lowers its levels at a deadline until they
/// fit the capacity. The first deadline is the target makespan. Bisection then tries later deadlines that would still
/// improve the chains. This takes a third of the iterations, or up to nine tenths if the first attempt nearly fits. A
/// schedule that fits and is shorter, or equally long with a lower peak, becomes its chain's best.
std::vector<FreeSchedule> tighten(Rounds& rounds, const pipeline::OpGraph& graph,
                                  const std::vector<pipeline::Order>& free, const TighteningGoal& goal);

}  // namespace dovetail::fuse
