// Decides whether stage fusion pays off for a plan, and explains why. Fused training is compared with other ways to
// fill pipeline bubbles. Fused generation is compared with generation followed by inference.
//
// A fusion pays off if it fits and takes at least 1% less time than the best alternative without fusion. Fusion of
// generation must also shorten the iteration by at least 1%, if the iteration was simulated. Fused generation is
// compared with running the inference tasks after generation, one after the other or in parallel on parts of the
// devices. The comparison includes parallel inference because a fused stage also runs the tasks in parallel, which
// saves hand-overs and loads regardless of the tail.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/training_methods.h"
#include "study/what_if.h"

namespace dovetail::study {

/// Minimum relative gain of a fusion that pays off.
inline constexpr double min_gain = 0.01;

enum class Verdict { no, yes, not_known };

struct Worth {
  Verdict verdict = Verdict::no;  ///< not_known if there was no time to evaluate it
  std::string reason;             ///< explanation without a final period
};

/// Verdict for the training phase.
struct TrainingWorth {
  std::vector<TrainingAlternative>
      alternatives;             ///< one for each of training_methods, and the plan itself if it equals none of them
  std::optional<double> bound;  ///< lower bound in seconds on all schedules of both trainings (TrainingMethod::fused)
  Worth fusion;
};

/// Decides whether fused training pays off. `fused` is the schedule of both trainings (WhatIfs::training), if there is
/// one. REQUIRES: a valid plan.
TrainingWorth training_worth(const predict::Scenario& scenario, const plan::Plan& plan,
                             const std::optional<predict::FusedTraining>& fused);

/// Time of generation fused with inference at a threshold.
struct FusedAt {
  double threshold = 0;
  double seconds = 0;
};

/// Verdict for generation and the inference after it. Times are means over the draws.
struct GenerationWorth {
  std::optional<double> plain;  ///< seconds of generation, then inference; nullopt if not evaluated
  double side_by_side = 0;      ///< like `plain`, but with the inference tasks in parallel on parts of the devices; a
                                ///< single task uses all devices
  std::vector<FusedAt> fused;   ///< at the best threshold and, if simulated, at the plan's; by increasing threshold
  std::optional<std::size_t> best;  ///< index in `fused`; nullopt if none is faster than `plain`
  /// Fraction of generation time for which the average instance waits for the last one, in the first draw.
  std::optional<double> tail;
  Worth fusion;
};

/// Decides whether fused generation pays off. REQUIRES: `what_ifs` belongs to the plan.
GenerationWorth generation_worth(const predict::Scenario& scenario, const plan::Plan& plan, const WhatIfs& what_ifs,
                                 std::uint64_t seed);

}  // namespace dovetail::study
