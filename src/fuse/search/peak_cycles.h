// Cycles of a cooling and reheats of what it found, by which the chains of a search lower their peaks at a deadline.
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

/// A chain that goes through cycles. Its best is the best of the cycle.
struct PeakWalker {
  Chain chain;
  pipeline::Order start;  ///< of each cycle
  std::int64_t deadline;  ///< the start is within it
};

/// What cycles are to reach, and what is done with what they find.
struct PeakCyclesTask {
  std::string_view phase;          ///< for progress
  std::int64_t target;             ///< walkers need not come below this peak
  std::vector<std::int64_t> room;  ///< [device] capacity, or empty for none
  /// Called again and again while a cooling goes on.
  std::function<void(std::size_t own, const Chain& walker)> take_over;
  std::function<bool()> is_over;  ///< by what all processes know
};

/// No one heat suits all problems: each chain begins its cycles at another, and each cycle at the next.
class PeakCycles {
 public:
  /// One walker for each chain of `rounds`, which counts their iterations.
  PeakCycles(Rounds& rounds, const pipeline::OpGraph& graph, std::vector<PeakWalker> walkers, PeakCyclesTask task);

  std::vector<PeakWalker>& walkers() { return walkers_; }

  /// Whole cycles, while they end before `rounds` has done until() iterations, but at least one. They grow, from call
  /// to call too, as nobody knows how long is long enough. Calls `after_cycle` after each. Returns how long the cooling
  /// of the next would be.
  std::int64_t run(const std::function<std::int64_t()>& until, const std::function<void()>& after_cycle);

  /// A cooling of `length` iterations of each walker from its start; `turn` chooses heat and kind.
  void cool(std::size_t turn, std::int64_t length);
  /// The same from its best.
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

}  // namespace dovetail::fuse
