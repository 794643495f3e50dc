// A schedule that changes by swaps of neighbours on a device: the disjunctive graph with the longest path before and
// behind every op.
//
// Swapping two neighbours of a device changes only the paths through them, so whether the new makespan stays within a
// limit is known from the heads and tails of their neighbours, in constant time; only a swap that is made costs an
// update, of the ops whose paths it changes. Memory depends on the order alone: a swap changes the level between the
// two, and nothing else. Source: neighbourhoods for job shops (van Laarhoven, Aarts, Lenstra 1992; Taillard 1994), with
// memory as a level of each prefix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fuse/search/walk_front.h"
#include "fuse/search/walk_graph.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// The candidate of a walk. Times are ticks, levels millionths: plain numbers, because this is the innermost loop of
/// the searches. Like ops never change places: micro-batches are alike, so that no better orders exist.
class SwapWalk {
 public:
  /// Where an op stands. The sequence of a device is a run of places, a free one before and behind it: the op behind
  /// the one at `place` stands at place + 1. What follows an op in time so follows it in memory, which is what an
  /// update needs to be fast.
  using Place = std::int32_t;

  /// What a swap would give, if it makes no cycle: the times of the two after it, and the longest path through either
  /// of them.
  struct Trial {
    std::int64_t end_first;
    std::int64_t end_second;
    std::int64_t tail_first;
    std::int64_t tail_second;
    std::int64_t longest;
  };

  /// Starts from `order`. REQUIRES: it is feasible, has no barriers, and like ops stand in the order of their
  /// micro-batches.
  SwapWalk(const pipeline::OpGraph& graph, const pipeline::Order& order);

  /// All ops stand at places below this.
  std::uint32_t places() const { return static_cast<std::uint32_t>(level_.size() - 1); }
  /// A uniform random place, by the upper half of uniform bits: the first of a swap, where can_swap() says that there
  /// is one.
  Place draw(std::uint64_t bits) const { return static_cast<Place>(((bits >> 32) * places()) >> 32); }
  int devices() const { return static_cast<int>(last_.size()); }
  int device(Place place) const { return device_[index(place)]; }
  /// The number of the op at `place`, or -1 where none stands.
  std::int32_t op(Place place) const { return op_[index(place)]; }
  /// Whether two ops that are not of one (pipeline, stage, kind) stand at `first` and behind it: a swap that changes
  /// something.
  bool can_swap(Place first) const {
    const std::int32_t a = class_[index(first)];
    const std::int32_t b = class_[index(first) + 1];
    return a != b && (a | b) >= 0;
  }

  /// What is held on the device after the start (F) or end (others) of the op at `place`; where none stands, less than
  /// of any op.
  std::int64_t level(Place place) const { return level_[index(place)]; }
  /// What level(first) becomes when the ops at `first` and behind it change places. No other place's level changes.
  std::int64_t level_between(Place first) const {
    return level(first) - memory_[index(first)] + memory_[index(first) + 1];
  }
  /// The largest level.
  std::int64_t peak() const;
  std::int64_t makespan() const { return makespan_; }
  std::int64_t head(Place place) const { return end(place) - duration(place); }
  /// Longest path from the start of the op at `place` to the end of everything: its own duration is counted.
  std::int64_t tail(Place place) const { return tail_[index(place)]; }
  std::int64_t duration(Place place) const { return duration_[index(place)]; }

  /// The swap of the ops at `first` and behind it, tried. If trial.longest > makespan(), it is the makespan after the
  /// swap exactly; else the makespan does not grow. REQUIRES: can_swap(first).
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

  /// Whether all that the second op waits for in the graph starts before the first ends. Then the swap makes no cycle,
  /// and delays the first by not much more than the duration of the second.
  bool is_prompt(Place first) const {
    const std::size_t second = index(first) + 1;
    // Whatever the first leads to starts after its end.
    const auto starts_before = [&](Place place) { return place != first && head(place) < end(first); };
    return starts_before(before_.first[second]) && (!has_more_ || starts_before(before_.second[second]));
  }
  /// Whether the swap would make an op wait for itself: a path leads from the first to the second beside the one on the
  /// device.
  bool makes_cycle(Place first);

  /// Whether a CutWalk may cut it: no op has two neighbours on one side in the graph, and no edge a lag.
  bool can_be_cut() const { return !has_more_; }

  /// Makes the swap that was tried. REQUIRES: `trial` is try_swap(first), and it makes no cycle.
  void swap(Place first, const Trial& trial);

  /// The order as it is now.
  pipeline::Order order() const;
  /// Counts the levels of each device from `floor` ([device]) on, from the next reset: to compare levels with unequal
  /// capacities.
  void set_floor(std::vector<std::int64_t> floor) { floor_ = std::move(floor); }
  /// Goes on from another order of the same ops.
  void reset(const pipeline::Order& order);

 private:
  friend class CutWalk;

  /// What an op is, wherever it stands. Joints (walk_graph.h) are ops of no class, each in a sequence of its own.
  struct Op {
    std::int64_t duration = 0;
    std::int64_t memory = 0;  // level after it less level before it
    std::int32_t class_number = -1;
  };
  static std::size_t index(Place place) { return static_cast<std::size_t>(place); }
  std::int64_t end(Place place) const { return end_[index(place)]; }
  static bool is_joint(const Op& op) { return op.class_number < 0; }
  bool is_free(Place place) const { return op_[index(place)] < 0; }
  /// When what the op at `place` waits for in the graph is done.
  std::int64_t ready(Place place) const {
    const std::int64_t first = end(before_.first[index(place)]);
    return has_more_ ? std::max(first + before_.lag[index(place)], end(before_.second[index(place)])) : first;
  }
  /// The longest path behind its end, by the graph.
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
  /// Whether a path leads from the op at `near` to the one at near + step beside the one on the device. With step -1
  /// all is seen against the time: from tails, for the same swap with its second place as `near`.
  template <int step>
  bool is_cycle(Place near);
  std::vector<Place> topological_order() const;

  std::vector<Op> ops_;              // [node] ops, then joints
  std::vector<WalkEdge> edges_;      // between nodes
  std::vector<Place> place_of_;      // [node]
  std::vector<Place> begin_;         // [device] where its first op stands
  std::vector<Place> last_;          // [device] where its last op stands, or the free place in front
  std::vector<std::int64_t> floor_;  // [device], or empty for 0
  Place source_ = 0;
  Place sink_ = 0;
  bool has_more_ = false;  // whether any op has two neighbours on one side, or an edge a lag
  std::int64_t makespan_ = 0;
  Place latest_ = 0;  // where an op ends with the makespan, unless that grew since

  // [place]; the first ones are all that an update looks at.
  std::vector<std::int64_t> end_;
  std::vector<std::int64_t> tail_;
  std::vector<std::int64_t> duration_;
  // Without a neighbour in the graph source_ or sink_ stand there, without a second one as well.
  WalkNeighbours before_;
  WalkNeighbours after_;
  std::vector<std::int64_t> level_;  // of devices only, as memory_ and device_
  std::vector<std::int64_t> memory_;
  std::vector<std::int32_t> device_;
  std::vector<std::int32_t> op_;
  std::vector<std::int32_t> class_;

  std::vector<Place> queue_;         // room for that of a WalkFront
  std::vector<std::uint32_t> seen_;  // [place] the search that last met it
  std::vector<Place> met_;           // by that search
  std::uint32_t search_ = 0;
};

}  // namespace dovetail::fuse
