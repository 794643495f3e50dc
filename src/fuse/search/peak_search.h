// Peak reduction: lowers the peaks of a search's chains without exceeding a deadline. A chain runs cycles of simulated
// annealing: one cooling, then reheats, which are shorter coolings from the cycle's best schedule, mostly from lower
// temperatures. Also tightening, for tight capacities: it shortens schedules without regard to the capacity, then
// lowers their memory until they fit.
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

/// Goal of the cycles, and callbacks that take their results and decide when the cycles end.
struct PeakCyclesTask {
  std::string_view phase;              ///< name of the phase in progress reports
  std::int64_t target;                 ///< peak at which walkers may stop
  std::vector<std::int64_t> headroom;  ///< [device] limit on activation; empty: no limits

  /// Called repeatedly during a cooling, so that the search can take over improvements. `own` is the index of a chain
  /// in this process, and `walker` is the chain of its walker.
  std::function<void(std::size_t own, const Chain& walker)> take_over;
  std::function<bool()> is_over;  ///< whether the cycles end; must return the same value in all processes
};

/// Cycles of coolings and reheats. No single heat (initial temperature) suits all problems, so chains have different
/// heats, and each chain changes its heat with every cycle.
class PeakCycles {
 public:
  /// `walkers` has one walker for each chain of this process. Their iterations count as iterations of `rounds`.
  PeakCycles(Rounds& rounds, const pipeline::OpGraph& graph, std::vector<PeakWalker> walkers, PeakCyclesTask task);

  std::vector<PeakWalker>& walkers() { return walkers_; }

  /// Runs whole cycles while they end before `rounds` has done until() iterations, and calls `after_cycle` after each.
  /// If no whole cycle fits, runs one shorter cycle instead. Cycles get longer, also across calls, because the required
  /// length is unknown. Returns the length of the cooling in the next cycle or, if a shorter cycle ran, in that cycle.
  std::int64_t run(const std::function<std::int64_t()>& until, const std::function<void()>& after_cycle);

  /// Runs a cooling of `length` iterations of each walker from its start. `turn` selects the heat of each chain, and
  /// which chains make only prompt swaps (SwapWalk::is_prompt).
  void cool(std::size_t turn, std::int64_t length);
  /// Runs a reheat of `length` iterations of each walker from its best. `turn` selects the heat of each chain.
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
  std::vector<std::int64_t> headroom;  ///< [device] limit on activation; empty: no limits

  /// [own chain] start of its cycles, within the deadline and the limits; empty: each chain starts from its best
  std::vector<pipeline::Order> starts;
};

/// Lowers the peaks of the chains until `rounds` has done the planned iterations or the target is met. REQUIRES: each
/// chain's best is within the deadline.
///
/// Up to three quarters of the iterations go to cycles, the rest to reheats of the chains' best schedules. Before these
/// reheats, chains with a peak more than 1% above the lowest take over the schedule with the lowest peak.
///
/// `plan_again` is called after every whole cycle and may plan more iterations. The plan affects only when the cycles
/// end, not how they proceed.
void lower_peaks(Rounds& rounds, const pipeline::OpGraph& graph, const PeakGoal& goal,
                 const std::function<void()>& plan_again);

/// Target and limits of tighten().
struct TighteningGoal {
  const std::vector<std::int64_t>& headroom;  ///< [device] limit on activation, in millionths of the memory unit
  std::int64_t makespan;                      ///< makespan at which tightening may stop
  std::uint64_t seed;
  std::int64_t iterations;  ///< iterations of each chain in the whole search
};

/// The shortest schedule that a chain found without regard to the capacity.
struct FreeSchedule {
  pipeline::Order order;
  std::int64_t makespan;
};

/// Finds schedules within tight capacities, where ordinary walks hardly move. Returns the free schedule of each chain
/// ([own chain]).
///
/// Each chain shortens one of the `free` schedules without regard to the capacity. It then lowers the memory levels of
/// the result at a deadline until they fit. The first deadline is goal.makespan. Bisection then tries later deadlines
/// that would still improve the chains. This takes a third of the iterations, or up to eleven twelfths if the first
/// attempt nearly fits. A schedule that fits and is shorter, or equally long with a lower peak, becomes its chain's
/// best.
std::vector<FreeSchedule> tighten(Rounds& rounds, const pipeline::OpGraph& graph,
                                  const std::vector<pipeline::Order>& free, const TighteningGoal& goal);

}  // namespace dovetail::fuse
