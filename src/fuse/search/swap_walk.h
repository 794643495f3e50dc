// A schedule that changes by swaps of adjacent ops on a device: a disjunctive graph with the longest paths before and
// after every op.
//
// Swapping two adjacent ops changes only the paths through them. So the heads and tails of the ops just before and
// after the two ops show in constant time whether the new makespan stays within a limit. A rejected swap needs no
// update. A swap that is made updates only the ops whose paths it changes. Memory depends only on the order: a swap
// changes only the memory level between the two ops. Source: neighborhoods for job shops (van Laarhoven, Aarts, Lenstra
// 1992; Taillard 1994), extended by the memory level after each op.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fuse/search/walk_graph.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// The current schedule of a walk. Swaps are the innermost loop of the searches, so times (ticks) and memory levels
/// (millionths of the memory unit) are plain integers. Ops of the same pipeline, stage and kind are never swapped:
/// their micro-batches are interchangeable, so a swap would change nothing.
class SwapWalk {
 public:
  /// Position of an op. The sequence of a device is a range of places with a free one before and after it: the op after
  /// the one at `place` is at place + 1. Ops that follow each other in time are therefore adjacent in memory, which
  /// makes updates fast.
  using Place = std::int32_t;

  /// Result of a swap that makes no cycle: the times of the two ops, and the longest path through either of them.
  struct Trial {
    std::int64_t end_first;
    std::int64_t end_second;
    std::int64_t tail_first;
    std::int64_t tail_second;
    std::int64_t longest;
  };

  /// Starts from `order`. REQUIRES: the order is feasible and has no barriers; ops of the same pipeline, stage and kind
  /// are in the order of their micro-batches.
  SwapWalk(const pipeline::OpGraph& graph, const pipeline::Order& order);

  /// Upper limit (exclusive) of the places of ops.
  std::uint32_t places() const { return static_cast<std::uint32_t>(level_.size() - 1); }
  /// Maps uniform random bits to a uniform random place, using the upper half of the bits. can_swap() tells whether a
  /// swap may start at this place.
  Place draw(std::uint64_t bits) const { return static_cast<Place>(((bits >> 32) * places()) >> 32); }
  int devices() const { return static_cast<int>(last_.size()); }
  int device(Place place) const { return device_[index(place)]; }
  /// Returns the number of the op at `place`, or -1 if the place is free.
  std::int32_t op(Place place) const { return op_[index(place)]; }
  /// Whether `first` and the next place hold ops that differ in pipeline, stage or kind, so that a swap changes the
  /// schedule.
  bool can_swap(Place first) const {
    const std::int32_t a = class_[index(first)];
    const std::int32_t b = class_[index(first) + 1];
    return a != b && (a | b) >= 0;
  }

  /// Returns the memory held on the device after the start (F) or end (others) of the op at `place`. The level of a
  /// free place is lower than any op's.
  std::int64_t level(Place place) const { return level_[index(place)]; }
  /// Returns level(first) after a swap of the op at `first` and the next one. No other level changes.
  std::int64_t level_between(Place first) const {
    return level(first) - memory_[index(first)] + memory_[index(first) + 1];
  }
  /// Returns the maximum level.
  std::int64_t peak() const;
  std::int64_t makespan() const { return makespan_; }
  std::int64_t head(Place place) const { return end(place) - duration(place); }
  /// Returns the longest path from the start of the op at `place` to the end of the schedule, including the op's own
  /// duration.
  std::int64_t tail(Place place) const { return tail_[index(place)]; }
  std::int64_t duration(Place place) const { return duration_[index(place)]; }

  /// Evaluates the swap of the op at `first` and the next one. If trial.longest > makespan(), it is the exact makespan
  /// after the swap. Otherwise the makespan does not increase. REQUIRES: can_swap(first).
  Trial try_swap(Place first) const {
    const Place second = first + 1;
    Trial trial;
    trial.end_second = std::max(ready(second), end(first - 1)) + duration(second);
    trial.end_first = std::max(ready(first), trial.end_second) + duration(first);
    trial.tail_first = std::max(rest(first), tail(second + 1)) + duration(first);
    trial.tail_second = std::max(rest(second), trial.tail_first) + duration(second);
    trial.longest = std::max(trial.end_first - duration(first) + trial.tail_first,
                             trial.end_second - duration(second) + trial.tail_second);
    return trial;
  }

  /// Whether the first op is not a graph predecessor of the second op, and all graph predecessors of the second op
  /// start before the first op ends. If so, the swap makes no cycle and leaves no long idle gap before the second op.
  bool is_prompt(Place first) const {
    const std::size_t second = index(first) + 1;
    // Successors of the first op start after its end.
    const auto starts_before = [&](Place place) { return place != first && head(place) < end(first); };
    return starts_before(before_.first[second]) && (!has_more_ || starts_before(before_.second[second]));
  }
  /// Whether the swap would make a cycle, because the graph has another path from the first op to the second than their
  /// adjacency on the device.
  bool makes_cycle(Place first);

  /// Whether CutWalk applies: every op has at most one neighbor on each side in the graph, and no edge has a lag.
  bool can_be_cut() const { return !has_more_; }

  /// Makes the swap. REQUIRES: `trial` is try_swap(first), and the swap makes no cycle.
  void swap(Place first, const Trial& trial);

  /// Returns the current order.
  pipeline::Order order() const;
  /// Sets the initial memory level of each device ([device]; default 0), so that levels under unequal capacities can be
  /// compared. Takes effect at the next reset.
  void set_floor(std::vector<std::int64_t> floor) { floor_ = std::move(floor); }
  /// Continues from another order of the same ops.
  void reset(const pipeline::Order& order);

 private:
  friend class CutWalk;

  /// Properties of an op that do not depend on its place. Ops with the same `class_number` (same pipeline, stage and
  /// kind) are interchangeable. A joint (walk_graph.h) has class_number -1 and is alone in its sequence.
  struct Op {
    std::int64_t duration = 0;
    std::int64_t memory = 0;  // level after it minus level before it
    std::int32_t class_number = -1;
  };
  static std::size_t index(Place place) { return static_cast<std::size_t>(place); }
  std::int64_t end(Place place) const { return end_[index(place)]; }
  static bool is_joint(const Op& op) { return op.class_number < 0; }
  bool is_free(Place place) const { return op_[index(place)] < 0; }
  /// Returns when the predecessors of the op at `place` in the graph have ended and their lags have passed.
  std::int64_t ready(Place place) const {
    const std::int64_t first = end(before_.first[index(place)]);
    return has_more_ ? std::max(first + before_.lag[index(place)], end(before_.second[index(place)])) : first;
  }
  /// Returns the longest path in the graph after the end of the op at `place`.
  std::int64_t rest(Place place) const {
    const std::int64_t first = tail(after_.first[index(place)]);
    return has_more_ ? std::max(first + after_.lag[index(place)], tail(after_.second[index(place)])) : first;
  }

  void lay_out(const pipeline::Order& order);
  void link();
  void set_free(Place place, bool in_front);
  void exchange(Place first);
  void redirect(Place first);
  void find_times();
  void find_makespan();
  template <bool more>
  void update(Place first, const Trial& trial);
  /// Whether there is another path from the op at `near` to the one at near + step than their adjacency on the device.
  /// If `step` is -1, time is reversed: tails are used in place of ends, and `near` is the second place of the swap.
  template <int step>
  bool is_cycle(Place near);
  std::vector<Place> topological_order() const;

  std::vector<Op> ops_;              // [node] ops, then joints
  std::vector<WalkEdge> edges_;      // edges between nodes
  std::vector<Place> place_of_;      // [node] its place
  std::vector<Place> begin_;         // [device] place of its first op
  std::vector<Place> last_;          // [device] place of its last op, or the free place before the first
  std::vector<std::int64_t> floor_;  // [device] initial memory level; empty: 0
  Place source_ = 0;
  Place sink_ = 0;
  bool has_more_ = false;  // whether any op has two neighbors on one side, or any edge has a lag
  std::int64_t makespan_ = 0;
  Place latest_ = 0;  // a place whose op ends at the makespan, unless the makespan has grown since

  // Arrays indexed by place. Updates access only the first few.
  std::vector<std::int64_t> end_;
  std::vector<std::int64_t> tail_;
  std::vector<std::int64_t> duration_;
  // Graph neighbors of each place. A missing neighbor is source_ in before_ and sink_ in after_.
  WalkNeighbours before_;
  WalkNeighbours after_;
  std::vector<std::int64_t> level_;  // level_, memory_ and device_ cover only places on devices
  std::vector<std::int64_t> memory_;
  std::vector<std::int32_t> device_;
  std::vector<std::int32_t> op_;
  std::vector<std::int32_t> class_;

  std::vector<Place> queue_;         // buffer for the queue of a WalkFront
  std::vector<std::uint32_t> seen_;  // [place] number of the last search that reached it
  std::vector<Place> met_;           // places that the current search reached
  std::uint32_t search_ = 0;
};

}  // namespace dovetail::fuse
