#include "fuse/search/makespan_walk.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace dovetail::fuse {

CutWalk::CutWalk(SwapWalk& walk) : walk_(walk) {
  DOVETAIL_ASSERT(walk.can_be_cut());
  cut();
}

void CutWalk::repair() { walk_.find_times(); }

/// No edge leads from after the cut to before it: an op that starts in the first half starts no earlier than its
/// predecessors.
void CutWalk::cut() {
  const std::int64_t time = walk_.makespan() / 2;
  std::vector<bool> is_early(walk_.end_.size());
  for (const Place place : walk_.place_of_) is_early[index(place)] = walk_.head(place) < time;
  cut_ = walk_.begin_;
  for (std::size_t device = 0; device < cut_.size(); ++device)
    while (is_early[index(cut_[device])]) ++cut_[device];
  ahead_.clear();
  beyond_.clear();
  crossing_.assign(walk_.end_.size(), -1);
  for (const Place place : walk_.place_of_) {
    const Place before = walk_.before_.first[index(place)];
    const Place after = walk_.after_.first[index(place)];
    if (is_early[index(place)]) {
      if (after == walk_.sink_ || !is_early[index(after)]) add_crossing(place, after);
      walk_.tail_[index(place)] = beyond_any_time;
    } else {
      if (before == walk_.source_) add_crossing(before, place);
      walk_.end_[index(place)] = beyond_any_time;
    }
  }
}

void CutWalk::add_crossing(Place ahead, Place beyond) {
  ahead_.push_back(ahead);
  beyond_.push_back(beyond);
  cross(static_cast<std::int32_t>(ahead_.size()) - 1, ahead, beyond);
}

/// Makes the crossing lead from `ahead` to `beyond`.
void CutWalk::cross(std::int32_t crossing, Place ahead, Place beyond) {
  ahead_[index(crossing)] = ahead;
  beyond_[index(crossing)] = beyond;
  if (ahead != walk_.source_) crossing_[index(ahead)] = crossing;
  if (beyond != walk_.sink_) crossing_[index(beyond)] = crossing;
}

std::int64_t CutWalk::max_across() const {
  const std::int64_t* const end = walk_.end_.data();
  const std::int64_t* const tail = walk_.tail_.data();
  std::int64_t longest = 0;
  for (const Place place : cut_) longest = std::max(longest, end[place - 1] + tail[place]);
  for (std::size_t crossing = 0; crossing < ahead_.size(); ++crossing)
    longest = std::max(longest, end[ahead_[crossing]] + tail[beyond_[crossing]]);
  return longest;
}

/// Swaps two ops on the side that this direction reaches first; `near` is the place it reaches first. Repeating the
/// swap undoes it.
template <int step>
void CutWalk::swap_within(Place near) {
  std::vector<std::int64_t>& times = step > 0 ? walk_.end_ : walk_.tail_;
  const WalkNeighbours& waits = step > 0 ? walk_.before_ : walk_.after_;
  const WalkNeighbours& holds = step > 0 ? walk_.after_ : walk_.before_;
  const Place far = near + step;
  const Place first = std::min(near, far);
  const auto time_of = [&](Place place, std::int64_t before) {
    return std::max(before, times[index(waits.first[index(place)])]) + walk_.duration(place);
  };
  const std::int64_t near_time = time_of(far, times[index(near - step)]);
  const std::int64_t far_time = time_of(near, near_time);
  walk_.exchange(first);
  std::swap(crossing_[index(near)], crossing_[index(far)]);
  std::vector<Place>& ends = step > 0 ? ahead_ : beyond_;
  for (const Place place : {near, far})
    if (crossing_[index(place)] >= 0) ends[index(crossing_[index(place)])] = place;
  WalkFront<step, false>(times, walk_.duration_, waits, holds, walk_.queue_).update(near, near_time, far_time);
}

/// Moves an op to the other side of the cut: the first op of its device after the cut, if it waits for no op after the
/// cut.
void CutWalk::take_ahead(Place place) {
  const Place before = walk_.before_.first[index(place)];
  walk_.end_[index(place)] = std::max(walk_.end(before), walk_.end(place - 1)) + walk_.duration(place);
  walk_.tail_[index(place)] = beyond_any_time;
  if (before != walk_.source_) crossing_[index(before)] = -1;
  cross(crossing_[index(place)], place, walk_.after_.first[index(place)]);
  ++cut_[index(walk_.device(place))];
}

/// Moves an op to the other side of the cut: the last op of its device before the cut, if it leads to no op before the
/// cut.
void CutWalk::take_beyond(Place place) {
  const Place after = walk_.after_.first[index(place)];
  walk_.tail_[index(place)] = std::max(walk_.tail(after), walk_.tail(place + 1)) + walk_.duration(place);
  walk_.end_[index(place)] = beyond_any_time;
  if (after != walk_.sink_) crossing_[index(after)] = -1;
  cross(crossing_[index(place)], walk_.before_.first[index(place)], place);
  --cut_[index(walk_.device(place))];
}

CutWalk::Outcome CutWalk::swap_and_repair(Place first, double loss) {
  repair();
  Outcome outcome = Outcome::cycle;
  if (!walk_.makes_cycle(first)) {
    const SwapWalk::Trial trial = walk_.try_swap(first);
    outcome = is_too_long(trial.longest, walk_.makespan(), loss) ? Outcome::too_long : Outcome::made;
    if (outcome == Outcome::made) walk_.swap(first, trial);
  }
  cut();
  return outcome;
}

CutWalk::Outcome CutWalk::swap(Place first, double loss) {
  const Place second = first + 1;
  if (is_ahead(first) && !is_ahead(second)) {
    const Place before = walk_.before_.first[index(second)];
    if (before == first) return Outcome::cycle;
    if (is_ahead(before))
      take_ahead(second);
    else if (!is_ahead(walk_.after_.first[index(first)]))
      take_beyond(first);
    else
      return swap_and_repair(first, loss);
  }
  return is_ahead(first) ? swap_on_one_side<1>(first, loss) : swap_on_one_side<-1>(second, loss);
}

template <int step>
CutWalk::Outcome CutWalk::swap_on_one_side(Place near, double loss) {
  if (walk_.is_cycle<step>(near)) return Outcome::cycle;
  swap_within<step>(near);
  const std::int64_t longest = max_across();
  if (is_too_long(longest, walk_.makespan(), loss)) {
    swap_within<step>(near);
    return Outcome::too_long;
  }
  walk_.makespan_ = longest;
  return Outcome::made;
}

MakespanWalk::MakespanWalk(SwapWalk& walk, bool prompt) : walk_(walk), prompt_(prompt) {}

MakespanWalk::~MakespanWalk() {
  if (cut_) cut_->repair();
}

/// A rejected swap costs a cut walk two long updates. The threshold is measured on the published coolings. A walk that
/// stays cut is cut again, because the cut drifts from the middle.
void MakespanWalk::choose_walk() {
  constexpr int steps_per_choice = 4096;
  constexpr int max_too_long = steps_per_choice / 8;
  if (++steps_ < steps_per_choice) return;
  const bool pays = too_long_ <= max_too_long && walk_.can_be_cut() && !prompt_;
  steps_ = 0;
  too_long_ = 0;
  if (cut_) cut_->repair();
  cut_.reset();
  if (pays) cut_.emplace(walk_);
}

MakespanWalk::Outcome MakespanWalk::try_first(SwapWalk::Place first, double loss) {
  const SwapWalk::Trial trial = walk_.try_swap(first);
  if (is_too_long(trial.longest, walk_.makespan(), loss)) return Outcome::too_long;
  if (prompt_ ? !walk_.is_prompt(first) : walk_.makes_cycle(first)) return Outcome::cycle;
  walk_.swap(first, trial);
  return Outcome::made;
}

MakespanWalk::Outcome MakespanWalk::step(SwapWalk::Place first, double loss) {
  choose_walk();
  const Outcome outcome = cut_ ? cut_->swap(first, loss) : try_first(first, loss);
  if (outcome == Outcome::too_long) ++too_long_;
  return outcome;
}

}  // namespace dovetail::fuse
