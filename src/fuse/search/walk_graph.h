// The reduced precedence graph of a walk, with at most two edges on each side of an op, and the update of longest paths
// after a swap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "pipeline/problem/problem.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// `after` starts no earlier than `lag` ticks after the end of `before`.
struct WalkEdge {
  std::int32_t before;
  std::int32_t after;
  std::int64_t lag;
};

/// Nodes are ops, numbered by OpId, then joints. A joint is a node without duration or device that combines some
/// predecessors or successors of an op that has more than two.
struct WalkGraph {
  std::int32_t nodes = 0;
  /// Each node has at most one incoming and one outgoing edge with a lag. Edges with a lag come first.
  std::vector<WalkEdge> edges;
};

/// Whether two ops have the same pipeline, stage and kind. Micro-batches are interchangeable, so such ops never need to
/// be swapped.
bool are_alike(const pipeline::OpLabel& a, const pipeline::OpLabel& b);

/// Returns the edges of `graph`, with joints. Most edges that other edges imply are omitted: for each omitted edge,
/// there is another path that is at least as long. Ops that are alike are assumed to keep their order on their device.
WalkGraph walk_graph(const pipeline::OpGraph& graph);

/// Larger than any time of a valid problem. Twice this value, or its sum with a time, fits in 64 bits.
inline constexpr std::int64_t beyond_any_time = std::numeric_limits<std::int64_t>::max() / 2;
static_assert(beyond_any_time > pipeline::max_sum + 1);

/// The neighbors of each op on one side of the graph: its predecessors or its successors, at most two. Indices and
/// values are places (SwapWalk::Place). A missing predecessor is the walk's source, a missing successor its sink.
struct WalkNeighbours {
  std::vector<std::int32_t> first;

  // Used only if some op has two neighbors on one side, or if some edge has a lag.
  std::vector<std::int32_t> second;
  std::vector<std::int64_t> lag;  ///< lag of the edge to the first neighbor
};

/// Updates longest paths in one direction. With step 1, `times` are ends, `waits` are the neighbors before an op and
/// `holds` those after it. With step -1, `times` are tails and time is reversed. `more` says whether ops have second
/// neighbors or lags. A time of beyond_any_time is never updated.
template <int step, bool more>
class WalkFront {
 public:
  using Place = std::int32_t;

  /// `headroom` is the buffer for the queue. It must have space for at least three places.
  WalkFront(std::vector<std::int64_t>& times, const std::vector<std::int64_t>& duration, const WalkNeighbours& waits,
            const WalkNeighbours& holds, std::vector<Place>& headroom)
      : times_(times.data()),
        duration_(duration.data()),
        waits_first_(waits.first.data()),
        waits_second_(waits.second.data()),
        waits_lag_(waits.lag.data()),
        holds_first_(holds.first.data()),
        holds_second_(holds.second.data()),
        holds_lag_(holds.lag.data()),
        queue_space_(&headroom),
        queue_(headroom.data()),
        max_queued_(headroom.size() - 3) {}

  /// Sets the times of two adjacent ops that were swapped and updates everything after them. `near` is the place that
  /// comes first in this direction.
  void update(Place near, std::int64_t near_time, std::int64_t far_time) {
    const Place far = near + step;
    const std::int64_t old_near = times_[near];
    const std::int64_t old_far = times_[far];
    times_[near] = near_time;
    times_[far] = far_time;
    push_held(near, reach_of(near_time, old_far), near_time < old_far);
    push_held(far, reach_of(far_time, old_near), far_time < old_near);
    push_if(far + step, reach_of(far_time, old_far) > begin(far + step));
    run();
  }

 private:
  /// Returns the start time below which successors of an op must be checked, after its time changed from `before` to
  /// `now`. If the time grew, these are the ops it now delays. If it shrank, these are the ops it delayed before.
  static std::int64_t reach_of(std::int64_t now, std::int64_t before) {
    return std::max(now, before) + (now < before ? 1 : 0);
  }

  std::int64_t begin(std::ptrdiff_t place) const { return times_[place] - duration_[place]; }

  /// Appends a place if `wanted`, without a branch: the condition is unpredictable, and mispredictions would dominate
  /// the cost.
  void push_if(Place place, bool wanted) {
    queue_[queued_] = place;
    queued_ += wanted ? 1 : 0;
  }

  /// Queues the graph successors of the op at `place`, whose time changed. If it shrank (`fell`), skips a successor
  /// that still starts when the op before it on its device ends: that op queues the successor if its own time shrinks
  /// too.
  void push_held(std::ptrdiff_t place, std::int64_t reach, bool fell) {
    if (queued_ > max_queued_) {
      queue_ = grown(*queue_space_);
      max_queued_ = queue_space_->size() - 3;
    }
    const std::ptrdiff_t held = holds_first_[place];
    const std::int64_t held_begin = begin(held);
    const bool is_held_by_device = times_[held - step] == held_begin;
    push_if(holds_first_[place], (reach + (more ? holds_lag_[place] : 0) > held_begin) & !(fell & is_held_by_device));
    if constexpr (more) push_if(holds_second_[place], reach > begin(holds_second_[place]));
  }

  /// Doubles the buffer of the queue and returns its start. Separate and static, so that the loop keeps this object's
  /// members in registers.
  [[gnu::noinline]] static Place* grown(std::vector<Place>& headroom) {
    headroom.resize(2 * headroom.size());
    return headroom.data();
  }

  /// Follows each queued place along its device until nothing changes.
  void run() {
    for (std::size_t position = 0; position < queued_; ++position) {
      std::ptrdiff_t place = queue_[position];
      std::int64_t now = times_[place - step];
      std::int64_t old = times_[place];
      for (;;) {
        now = std::max(now, times_[waits_first_[place]] + (more ? waits_lag_[place] : 0));
        if constexpr (more) now = std::max(now, times_[waits_second_[place]]);
        now += duration_[place];
        if (now == old) break;
        times_[place] = now;
        const std::int64_t reach = reach_of(now, old);
        push_held(place, reach, now < old);
        place += step;
        old = times_[place];
        if (reach <= old - duration_[place]) break;
      }
    }
  }

  // Copies of the pointers, so that writes to the times or the queue cannot change them.
  std::int64_t* times_;
  const std::int64_t* duration_;
  const Place* waits_first_;
  const Place* waits_second_;
  const std::int64_t* waits_lag_;
  const Place* holds_first_;
  const Place* holds_second_;
  const std::int64_t* holds_lag_;
  std::vector<Place>* queue_space_;
  Place* queue_;
  std::size_t max_queued_;  // leaves space for three more
  std::size_t queued_ = 0;
};

}  // namespace dovetail::fuse
