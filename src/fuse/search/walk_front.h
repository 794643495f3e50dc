// The longest paths before, or behind, the ops of a walk, brought up to date after a swap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::fuse {

/// Larger than any time of a problem that is accepted; two of them, or one and a time, still fit 64 bits.
inline constexpr std::int64_t beyond_any_time = std::numeric_limits<std::int64_t>::max() / 2;
static_assert(beyond_any_time > pipeline::max_sum + 1);

/// [place] the places of at most two neighbours in the graph, on one side. What stands for no neighbour is the walk's
/// business.
struct WalkNeighbours {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;  ///< only used where some op has more than one
  std::vector<std::int64_t> lag;     ///< of the edge to the first; only used there too
};

/// Longest paths are the same before and behind an op but for the direction. With step 1 `times` are ends: `waits` are
/// the neighbours before an op, `holds` those behind it. With step -1 they are tails, and all runs against the time.
/// `more`: whether ops have second neighbours or lags. A place whose time is `never` keeps it.
template <int step, bool more>
class WalkFront {
 public:
  using Place = std::int32_t;

  /// `room` is for the queue: three places or more.
  WalkFront(std::vector<std::int64_t>& times, const std::vector<std::int64_t>& duration, const WalkNeighbours& waits,
            const WalkNeighbours& holds, std::vector<Place>& room)
      : times_(times.data()),
        duration_(duration.data()),
        waits_first_(waits.first.data()),
        waits_second_(waits.second.data()),
        waits_lag_(waits.lag.data()),
        holds_first_(holds.first.data()),
        holds_second_(holds.second.data()),
        holds_lag_(holds.lag.data()),
        room_(&room),
        queue_(room.data()),
        max_queued_(room.size() - 3) {}

  /// Sets the times of two neighbours that changed places: `near` is the place that comes first in this direction.
  /// Updates all that follows.
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
  /// An op behind one whose time is `now`, no longer `before`, is to be looked at again if it begins before this: where
  /// the time grew, what it now holds back; where it fell, what it held back.
  static std::int64_t reach_of(std::int64_t now, std::int64_t before) {
    return std::max(now, before) + (now < before ? 1 : 0);
  }

  std::int64_t begin(std::ptrdiff_t place) const { return times_[place] - duration_[place]; }

  /// Whether a place is queued is as good as random: a branch on it would cost more than all the rest.
  void push_if(Place place, bool wanted) {
    queue_[queued_] = place;
    queued_ += wanted ? 1 : 0;
  }

  /// What begins no earlier although this fell, because the op in front of it on its device holds it there, is not
  /// looked at: that one will see to it should it fall as well.
  void push_held(std::ptrdiff_t place, std::int64_t reach, bool fell) {
    if (queued_ > max_queued_) {
      queue_ = grown(*room_);
      max_queued_ = room_->size() - 3;
    }
    const std::ptrdiff_t held = holds_first_[place];
    const std::int64_t held_begin = begin(held);
    const bool is_held_by_device = times_[held - step] == held_begin;
    push_if(holds_first_[place], (reach + (more ? holds_lag_[place] : 0) > held_begin) & !(fell & is_held_by_device));
    if constexpr (more) push_if(holds_second_[place], reach > begin(holds_second_[place]));
  }

  /// Apart, and without this object: the loop keeps its members in registers.
  [[gnu::noinline]] static Place* grown(std::vector<Place>& room) {
    room.resize(2 * room.size());
    return room.data();
  }

  /// From each queued place on, along its device, until nothing changes any more.
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

  // Copies: nothing that is written to times or queue can change them.
  std::int64_t* times_;
  const std::int64_t* duration_;
  const Place* waits_first_;
  const Place* waits_second_;
  const std::int64_t* waits_lag_;
  const Place* holds_first_;
  const Place* holds_second_;
  const std::int64_t* holds_lag_;
  std::vector<Place>* room_;
  Place* queue_;
  std::size_t max_queued_;  // so that three more find room
  std::size_t queued_ = 0;
};

}  // namespace dovetail::fuse
