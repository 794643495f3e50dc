// Is stage fusion worth it for a plan? Fused training beside what else would fill its bubbles, generation fused with
// inference beside plain and one step off policy; yes or no, and why.
//
// A fusion is worth it where it fits and takes at least a hundredth off the best of what can be had without it; that of
// generation also takes as much off the iteration, as far as that was played. What can be had without it there is tasks
// that score one after the other, or side by side, each on a part of the devices: in a fused stage they do the latter,
// which spares hand-overs and loads whatever the tail is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/training_ways.h"
#include "study/what_if.h"

namespace dovetail::study {

/// By what part something has to be shorter to be worth it.
inline constexpr double min_gain = 0.01;

enum class Verdict { no, yes, not_known };

struct Worth {
  Verdict verdict = Verdict::no;  ///< not known where there was no time to look
  std::string reason;             ///< without a period at its end
};

/// Of the training phase.
struct TrainingWorth {
  std::vector<TrainingAlternative> ways;  ///< one of each training_ways; where none is what the plan says, that too
  std::optional<double> bound;            ///< seconds that no schedule of both trainings beats, of TrainingWay::fused
  Worth fusion;
};

/// `fused`: both trainings of the plan in one schedule (WhatIfs::training), where there is one. REQUIRES: the plan has
/// no fault.
TrainingWorth training_worth(const predict::Scenario& scenario, const plan::Plan& plan,
                             const std::optional<predict::FusedTraining>& fused);

/// Generation and inference, fused.
struct FusedAt {
  double threshold = 0;
  double seconds = 0;
};

/// Of generation with inference behind it, means over the draws.
struct GenerationWorth {
  std::optional<double> plain;  ///< seconds of both, one after the other; nothing where there is nothing to fuse
  double side_by_side =
      0;  ///< the same, but the tasks that score share the devices out behind generation; one task has them all
  std::vector<FusedAt> fused;  ///< at the best threshold, and at the plan's where that was played, by rising threshold
  std::optional<std::size_t> best;  ///< of these; nothing where none is better than plain
  /// Part of generation that the average instance waits for the last one; of the first draw.
  std::optional<double> tail;
  Worth fusion;
};

/// REQUIRES: `what_ifs` are those of the plan.
GenerationWorth generation_worth(const predict::Scenario& scenario, const plan::Plan& plan, const WhatIfs& what_ifs,
                                 std::uint64_t seed);

}  // namespace dovetail::study
