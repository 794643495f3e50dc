// A walk while it makes most of the swaps that it tries, when it is hot: it is told apart in time, and each part
// updates one side only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuse/search/swap_walk.h"

namespace dovetail::fuse {

/// Whether a walk refuses a makespan of `longest` where it may lose `loss` on the `makespan` that it is at.
inline bool is_too_long(std::int64_t longest, std::int64_t makespan, double loss) {
  return longest > makespan && static_cast<double>(longest - makespan) > loss;
}

/// A cut through the schedule at half of its makespan. Ops ahead of it know their ends, those behind it their tails,
/// and the makespan is the longest end + tail over what crosses the cut. A swap updates one of the two, and only up to
/// the cut: a quarter of what both all through the schedule cost. That is worth more than knowing beforehand which
/// swaps are too long, as long as few are.
class CutWalk {
 public:
  using Place = SwapWalk::Place;

  enum class Outcome { made, too_long, cycle };

  /// Cuts `walk`, whose head, tail, try_swap, is_prompt and makes_cycle are not to be asked until mend().
  /// REQUIRES: walk.can_be_cut(); it is where it is, unmoved, until then.
  explicit CutWalk(SwapWalk& walk);
  /// Ends and tails of all again.
  void mend();

  /// Swaps the ops at `first` and behind it, unless that makes a cycle, or makes the makespan longer than it is by more
  /// than `loss`.
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
  Outcome swap_mended(Place first, double loss);

  SwapWalk& walk_;
  std::vector<Place> cut_;              // [device] its first place behind the cut
  std::vector<Place> ahead_;            // [crossing] where it comes from, or source_
  std::vector<Place> beyond_;           // [crossing] where it leads, or sink_
  std::vector<std::int32_t> crossing_;  // [place] the crossing that the op there is an end of, or -1
};

}  // namespace dovetail::fuse
