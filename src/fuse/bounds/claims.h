// What the file of a schedule says of it beside what is true of it.
#pragma once

#include <string>
#include <vector>

#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// A bound or an `optimal` of a file that is false, or that is not proven here: a long search may have proven more.
struct DoubtfulClaim {
  std::string key;  ///< "bounds.makespan"
  bool refuted = false;
  std::string reason;  ///< "610 is above the 606 of this schedule"
};

/// The claims of `schedule` that are false or not confirmed by `bound`, proven of its problem, and `peak_bound`, proven
/// of all schedules that are as long; in the order in which a file has them. A bound above what the schedule itself has
/// is false; so is an `optimal` that does not say whether the file's own bound is met. A bound below the proven one is
/// true. REQUIRES: `evaluation` is of `schedule`.
std::vector<DoubtfulClaim> doubtful_claims(const pipeline::Schedule& schedule, const pipeline::Evaluation& evaluation,
                                           base::Ticks bound, base::Memory peak_bound);

}  // namespace dovetail::fuse
