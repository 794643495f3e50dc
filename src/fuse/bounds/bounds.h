// Lower bounds on makespan and peak activation, and a check of the claims in schedule files against them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parallel/cancellation.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// Lower bounds on the makespan, each from a different argument (proofs in docs/bounds.md), and on the peak activation.
/// An op's head is a time before which no schedule starts it. Its tail is a minimum time from its end to the end of the
/// schedule.
struct Bounds {
  base::Ticks path;  ///< longest chain of dependent ops
  base::Ticks work;  ///< work of the busiest device

  /// Maximum, over all devices and all subsets of the models, of minimum head + work + minimum tail. All three are
  /// taken over the ops that the subset has on the device. Source: RLHFuse, section 7.3, for some of the subsets.
  base::Ticks head_work_tail;
  /// Maximum over devices of the makespan of Jackson's preemptive schedule of the device's ops, with their heads and
  /// tails.
  base::Ticks one_machine;
  base::Ticks makespan;  ///< maximum of the bounds above
  /// Lower bound on the peak activation: in any schedule, one micro-batch is at some moment held on all stages of its
  /// pipeline.
  base::Memory peak_activation;
  std::vector<base::Ticks> head_work_tail_by_device;
  std::vector<base::Ticks> one_machine_by_device;
};

/// Computes all bounds of `problem`. REQUIRES: find_fault(problem) finds nothing.
Bounds bounds_of(const pipeline::Problem& problem);

/// Returns a lower bound on the peak activation of any schedule of `problem`: Bounds::peak_activation.
base::Memory peak_activation_bound(const pipeline::Problem& problem);

/// Returns the devices on which every schedule of `problem` exceeds the limit: the smaller of the device's capacity and
/// `cap`. Such a device cannot hold, in addition to its resident memory, one micro-batch on all stages that some
/// pipeline has there. An empty result does not imply that a schedule fits.
std::vector<pipeline::CapacityExcess> find_impossible(const pipeline::Problem& problem,
                                                      std::optional<base::Memory> cap);

/// Limits of a proof. `work` limits states rather than time, so every machine proves the same bound unless the proof is
/// canceled.
struct BoundOptions {
  /// Maximum number of device states (combinations of finished ops on a device) to examine, at about 30 million per
  /// second. 0: only the bounds that need no search. Absent: 2000 per op, at most 20 million.
  std::optional<std::int64_t> work = {};
  /// Ends the proof early; the bounds proven so far remain valid.
  const parallel::Cancellation* cancellation = nullptr;
  /// Peak of a known schedule that meets the deadline; larger bounds are not tried.
  std::optional<base::Memory> known_peak = {};
  /// Makespan of a known schedule that fits; larger bounds are not tried.
  std::optional<base::Ticks> known_makespan = {};
};

/// Returns a lower bound on the peak activation of any schedule of `problem` with a makespan of at most `deadline`,
/// independent of the problem's capacity. The bound is at least Bounds::peak_activation; it is Memory::max() if it is
/// proven that no schedule ends by `deadline`. Every bound is valid, but if a proof runs out of work, a later deadline
/// may yield a larger bound than an earlier one.
base::Memory peak_activation_bound(const pipeline::Problem& problem, base::Ticks deadline,
                                   const BoundOptions& options = {});

/// Returns a lower bound on the makespan of any schedule of `problem` that fits. Fitting means that resident memory
/// plus activation is within the problem's capacity and `cap` on each device. The bound is at least
/// bounds_of(problem).makespan, and exactly that if find_impossible names a device.
base::Ticks makespan_bound(const pipeline::Problem& problem, std::optional<base::Memory> cap,
                           const BoundOptions& options = {});

/// A claim in a schedule file (a bound or an `optimal` flag) that is false or could not be confirmed. An unconfirmed
/// claim may be true, because a long search may have proven more.
struct DisputedClaim {
  std::string key;       ///< key of the claim in the file: "bounds.makespan"
  bool refuted = false;  ///< true: the claim is proven false; false: it could not be confirmed
  std::string reason;    ///< reason in words: "610 is above this schedule's 606"
};

/// Returns the claims of `schedule` that are false or not confirmed, in file order. `bound` is a proven makespan bound
/// of the schedule's problem. `peak_bound` is a proven peak bound for schedules of the same makespan. REQUIRES:
/// `evaluation` is the evaluation of `schedule`.
///
/// A claimed bound is refuted if it is above the schedule's own value, and confirmed if it is at most the proven bound.
/// An `optimal` flag is refuted if it contradicts the bound in the file. If the file has no bound, the flag `false` is
/// refuted if the proven bound equals the schedule's value. The flag `true` is confirmed only if the proven bound
/// equals the schedule's value.
std::vector<DisputedClaim> check_claims(const pipeline::Schedule& schedule, const pipeline::Evaluation& evaluation,
                                        base::Ticks bound, base::Memory peak_bound);

}  // namespace dovetail::fuse
