// The longest paths before, or behind, the ops of a walk, brought up to date after a swap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace dovetail::fuse {

/// Larger than any time, and small enough to add to.
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;

/// [place] the places of at most two neighbours in the graph, on one side. What stands for no neighbour is the walk's business.
struct WalkNeighbours {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;  ///< only used where some op has more than one
  std::vector<std::int64_t> lag;     ///< of the edge to the first; only used there too
};

/// Longest paths are the same before and behind an op but for the direction. With step 1 `times` are ends: `waits` are the neighbours
/// before an op, `holds` those behind it. With step -1 they are tails, and all runs against the time. `more`: whether ops have second
/// neighbours or lags. A place whose time is `never` keeps it.
template <int step, bool more>
struct WalkFront {
  using Place = std::int32_t;

  // Copies: nothing that the loops write can change them.
  std::int64_t* times;
  const std::int64_t* duration;
  const Place* waits_first;
  const Place* waits_second;
  const std::int64_t* waits_lag;
  const Place* holds_first;
  const Place* holds_second;
  const std::int64_t* holds_lag;
  std::vector<Place>* room;  ///< at least for three places
  Place* queue;
  std::size_t most_queued;  ///< so that three more find room
  std::size_t queued = 0;

  WalkFront(std::vector<std::int64_t>& all_times, const std::vector<std::int64_t>& durations, const WalkNeighbours& waits,
            const WalkNeighbours& holds, std::vector<Place>& queue_room)
      : times(all_times.data()),
        duration(durations.data()),
        waits_first(waits.first.data()),
        waits_second(waits.second.data()),
        waits_lag(waits.lag.data()),
        holds_first(holds.first.data()),
        holds_second(holds.second.data()),
        holds_lag(holds.lag.data()),
        room(&queue_room),
        queue(queue_room.data()),
        most_queued(queue_room.size() - 3) {}

  /// Sets the times of two neighbours that changed places: `near` is the place that comes first in this direction. Updates all that
  /// follows.
  void update(Place near, std::int64_t near_time, std::int64_t far_time) {
    const Place far = near + step;
    const std::int64_t old_near = times[near];
    const std::int64_t old_far = times[far];
    times[near] = near_time;
    times[far] = far_time;
    push_held(near, reach_of(near_time, old_far));
    push_held(far, reach_of(far_time, old_near));
    push_if(far + step, reach_of(far_time, old_far) > begin(far + step));
    run();
  }

 private:
  /// An op behind one whose time is `now`, no longer `before`, is to be looked at again if it begins before this: where the time grew,
  /// what it now holds back; where it fell, what it held back.
  static std::int64_t reach_of(std::int64_t now, std::int64_t before) { return std::max(now, before) + (now < before ? 1 : 0); }
  std::int64_t begin(std::ptrdiff_t place) const { return times[place] - duration[place]; }
  /// Whether a place is queued is as good as random: a branch on it would cost more than all the rest.
  void push_if(Place place, bool wanted) {
    queue[queued] = place;
    queued += wanted ? 1 : 0;
  }
  [[gnu::noinline]] static Place* grown(std::vector<Place>& room) {
    room.resize(2 * room.size());
    return room.data();
  }
  void push_held(std::ptrdiff_t place, std::int64_t reach) {
    if (queued > most_queued) {
      queue = grown(*room);
      most_queued = room->size() - 3;
    }
    push_if(holds_first[place], reach + (more ? holds_lag[place] : 0) > begin(holds_first[place]));
    if constexpr (more) push_if(holds_second[place], reach > begin(holds_second[place]));
  }
  /// From each queued place on, along its device, until nothing changes any more.
  void run() {
    for (std::size_t position = 0; position < queued; ++position) {
      std::ptrdiff_t place = queue[position];
      std::int64_t now = times[place - step];
      std::int64_t old = times[place];
      for (;;) {
        now = std::max(now, times[waits_first[place]] + (more ? waits_lag[place] : 0));
        if constexpr (more) now = std::max(now, times[waits_second[place]]);
        now += duration[place];
        if (now == old) break;
        times[place] = now;
        const std::int64_t reach = reach_of(now, old);
        push_held(place, reach);
        place += step;
        old = times[place];
        if (reach <= old - duration[place]) break;
      }
    }
  }
};

}  // namespace dovetail::fuse
