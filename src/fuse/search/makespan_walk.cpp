#include "fuse/search/makespan_walk.h"

namespace dovetail::fuse {

MakespanWalk::MakespanWalk(SwapWalk& walk, bool prompt) : walk_(walk), prompt_(prompt) {}

MakespanWalk::~MakespanWalk() {
  if (cut_) cut_->mend();
}

/// A swap that is too long costs a cut walk two updates, long ones. The share is measured on the published coolings. A
/// walk that stays cut is cut anew: the cut wanders off the middle.
void MakespanWalk::choose_way() {
  constexpr int steps_a_choice = 4096;
  constexpr int max_too_long = steps_a_choice / 8;
  if (++steps_ < steps_a_choice) return;
  const bool pays = too_long_ <= max_too_long && walk_.can_be_cut() && !prompt_;
  steps_ = 0;
  too_long_ = 0;
  if (cut_) cut_->mend();
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
  choose_way();
  const Outcome outcome = cut_ ? cut_->swap(first, loss) : try_first(first, loss);
  if (outcome == Outcome::too_long) ++too_long_;
  return outcome;
}

}  // namespace dovetail::fuse
