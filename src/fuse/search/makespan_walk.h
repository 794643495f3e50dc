// Metropolis steps on the makespan, each decided exactly, in the cheaper of two ways.
#pragma once

#include <optional>

#include "fuse/search/cut_walk.h"
#include "fuse/search/swap_walk.h"

namespace dovetail::fuse {

/// Decides swaps by what they add to the makespan. While few are too long they are made to see how long they are (CutWalk), else they
/// are tried first (SwapWalk). The outcome of a swap is the same in both ways.
class MakespanWalk {
 public:
  using Outcome = CutWalk::Outcome;

  /// Steps of `walk`, which is to be asked for heads and tails, tried and swapped by this alone until it is gone.
  explicit MakespanWalk(SwapWalk& walk);
  ~MakespanWalk();
  MakespanWalk(const MakespanWalk&) = delete;
  MakespanWalk& operator=(const MakespanWalk&) = delete;

  /// Swaps the ops at `first` and behind it, unless that makes a cycle, or adds more than `loss` to the makespan.
  Outcome step(SwapWalk::Place first, double loss);
  /// The same, and no swap that is not prompt (SwapWalk::is_prompt); those count as cycles. Not to be mixed with the other.
  Outcome prompt_step(SwapWalk::Place first, double loss);

 private:
  template <class Allowed>
  Outcome try_first(SwapWalk::Place first, double loss, const Allowed& allowed);
  void choose_way();

  SwapWalk& walk_;
  std::optional<CutWalk> cut_;
  int steps_ = 0;  // since the way was chosen
  int too_long_ = 0;
};

}  // namespace dovetail::fuse
