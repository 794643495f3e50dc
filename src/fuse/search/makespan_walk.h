// Metropolis steps on the makespan, each decided exactly, by the cheaper of two methods. At high temperatures most
// swaps are accepted. The schedule is then cut in time, and a swap updates only one side of the cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/search/swap_walk.h"

namespace dovetail::fuse {

/// Whether a walk rejects the new makespan `longest` because it exceeds the current `makespan` by more than `loss`.
inline bool is_too_long(std::int64_t longest, std::int64_t makespan, double loss) {
  return longest > makespan && static_cast<double>(longest - makespan) > loss;
}

/// A cut through the schedule at half of its makespan. Ops before the cut store their ends, ops after it their tails.
/// The makespan is the maximum of end + tail over the edges that cross the cut. Nearly every swap updates only ends or
/// only tails, and only up to the cut. This is a quarter of the cost of updating ends and tails in the whole schedule.
/// While few swaps are rejected, it is cheaper to make and undo a rejected swap than to evaluate every swap beforehand.
class CutWalk {
 public:
  using Place = SwapWalk::Place;

  /// Outcome of a proposed swap.
  enum class Outcome {
    made,
    too_long,  ///< rejected: the makespan would increase too much
    cycle      ///< rejected: the order would have a cycle
  };

  /// Cuts `walk`. Until repair(), `walk` must not be moved, and its functions head, tail, try_swap, is_prompt and
  /// makes_cycle must not be called. REQUIRES: walk.can_be_cut().
  explicit CutWalk(SwapWalk& walk);
  /// Restores the ends and tails of all ops.
  void repair();

  /// Swaps the op at `first` with the next one, unless that makes a cycle or increases the makespan by more than
  /// `loss`.
  Outcome swap(Place first, double loss);

 private:
  void cut();
  void add_crossing(Place ahead, Place beyond);
  void cross(std::int32_t crossing, Place ahead, Place beyond);
  std::int64_t max_across() const;
  static std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }
  bool is_ahead(Place place) const { return walk_.end_[index(place)] != beyond_any_time; }
  template <int step>
  void swap_within(Place near);
  template <int step>
  Outcome swap_on_one_side(Place near, double loss);
  void take_ahead(Place place);
  void take_beyond(Place place);
  Outcome swap_and_repair(Place first, double loss);

  SwapWalk& walk_;
  // A crossing is an edge that crosses the cut.
  std::vector<Place> cut_;              // [device] its first place after the cut
  std::vector<Place> ahead_;            // [crossing] its origin, or source_
  std::vector<Place> beyond_;           // [crossing] its target, or sink_
  std::vector<std::int32_t> crossing_;  // [place] crossing that begins or ends at its op, or -1
};

/// Accepts or rejects swaps by how much they increase the makespan. While few are rejected, each swap is made, and
/// undone if it is rejected (CutWalk). Otherwise each swap is evaluated before it is made (SwapWalk). Both methods
/// accept the same swaps.
class MakespanWalk {
 public:
  using Outcome = CutWalk::Outcome;

  /// Walks on `walk`. Until this object is destroyed, only this object may swap ops of `walk`, and the restrictions of
  /// CutWalk apply to the functions of `walk`. If `prompt`, only prompt swaps are made (SwapWalk::is_prompt), other
  /// swaps are rejected as `cycle`, and every swap is evaluated before it is made.
  MakespanWalk(SwapWalk& walk, bool prompt);
  ~MakespanWalk();
  MakespanWalk(const MakespanWalk&) = delete;
  MakespanWalk& operator=(const MakespanWalk&) = delete;

  /// Swaps the op at `first` with the next one, unless that makes a cycle or adds more than `loss` to the makespan. If
  /// it does both, the outcome is either `cycle` or `too_long`. REQUIRES: walk.can_swap(first).
  Outcome step(SwapWalk::Place first, double loss);
  bool is_cut() const { return cut_.has_value(); }

 private:
  void choose_walk();
  Outcome try_first(SwapWalk::Place first, double loss);

  SwapWalk& walk_;
  const bool prompt_;
  std::optional<CutWalk> cut_;
  int steps_ = 0;  // steps since the method was chosen
  int too_long_ = 0;
};

}  // namespace dovetail::fuse
