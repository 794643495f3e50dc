// Metropolis steps on the makespan, each decided exactly, in the cheaper of two ways.
#pragma once

#include <cstdint>
#include <optional>

#include "fuse/search/cut_walk.h"
#include "fuse/search/swap_walk.h"

namespace dovetail::fuse {

/// Decides swaps by what they add to the makespan. While few are too long they are made to see how long they are
/// (CutWalk), else they are tried first (SwapWalk). The swaps that are made are the same in both ways.
class MakespanWalk {
 public:
  using Outcome = CutWalk::Outcome;

  /// Steps of `walk`, which is to be asked for heads and tails, tried and swapped by this alone until it is gone. With
  /// `prompt` no swap is made that is not (SwapWalk::is_prompt); such count as cycles, and all are tried first.
  MakespanWalk(SwapWalk& walk, bool prompt);
  ~MakespanWalk();
  MakespanWalk(const MakespanWalk&) = delete;
  MakespanWalk& operator=(const MakespanWalk&) = delete;

  /// Swaps the ops at `first` and behind it, unless that makes a cycle, or adds more than `loss` to the makespan; of
  /// both either may be the outcome. REQUIRES: walk.can_swap(first).
  Outcome step(SwapWalk::Place first, double loss);
  bool is_cut() const { return cut_.has_value(); }

 private:
  void choose_way();
  Outcome try_first(SwapWalk::Place first, double loss);

  SwapWalk& walk_;
  const bool prompt_;
  std::optional<CutWalk> cut_;
  int steps_ = 0;  // since the way was chosen
  int too_long_ = 0;
};

}  // namespace dovetail::fuse
