#include "fuse/search/makespan_walk.h"

namespace dovetail::fuse {

MakespanWalk::MakespanWalk(SwapWalk& walk) : walk_(walk) {}

MakespanWalk::~MakespanWalk() {
  if (cut_) cut_->mend();
}

template <class Allowed>
MakespanWalk::Outcome MakespanWalk::try_first(SwapWalk::Place first, double loss, const Allowed& allowed) {
  const SwapWalk::Trial trial = walk_.try_swap(first);
  const std::int64_t added = trial.longest - walk_.makespan();
  if (added > 0 && static_cast<double>(added) > loss) return Outcome::too_long;
  if (!allowed()) return Outcome::cycle;
  walk_.swap(first, trial);
  return Outcome::made;
}

/// A swap that is too long costs a cut walk two updates, long ones. Measured on the published coolings.
void MakespanWalk::choose_way() {
  constexpr int steps_a_choice = 4096;
  constexpr int most_too_long = steps_a_choice / 8;
  if (++steps_ < steps_a_choice) return;
  const bool pays = too_long_ <= most_too_long && walk_.can_be_cut();
  steps_ = 0;
  too_long_ = 0;
  if (pays == cut_.has_value()) return;
  if (cut_) {
    cut_->mend();
    cut_.reset();
  } else {
    cut_.emplace(walk_);
  }
}

MakespanWalk::Outcome MakespanWalk::step(SwapWalk::Place first, double loss) {
  choose_way();
  const Outcome outcome = cut_ ? cut_->swap(first, loss) : try_first(first, loss, [&] { return !walk_.makes_cycle(first); });
  if (outcome == Outcome::too_long) ++too_long_;
  return outcome;
}

MakespanWalk::Outcome MakespanWalk::prompt_step(SwapWalk::Place first, double loss) {
  return try_first(first, loss, [&] { return walk_.is_prompt(first); });
}

}  // namespace dovetail::fuse
