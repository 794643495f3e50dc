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

/// Lower bounds on the makespan, each from a different argument (proofs in docs/bounds.md). `makespan` is the largest.
struct Bounds {
  base::Ticks path;  ///< longest chain of dependent ops
  base::Ticks work;  ///< work of the busiest device

  /// Maximum over devices and subsets of models of (minimum head + work + minimum tail) of their ops there (RLHFuse,
  /// section 7.3, for every subset).
  base::Ticks head_work_tail;
  /// Maximum over devices of the makespan of Jackson's preemptive schedule of the device's ops, with their heads and
  /// tails.
  base::Ticks one_machine;
  base::Ticks makespan;
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

/// Returns the devices on which no schedule of `problem` fits within its capacity and `cap`, whichever is smaller. On
/// them, resident memory plus one micro-batch held on all stages of its pipeline exceeds the limit. An empty result
/// does not imply that a schedule fits.
std::vector<pipeline::CapacityExcess> find_impossible(const pipeline::Problem& problem,
                                                      std::optional<base::Memory> cap);

/// Limits on the cost of a proof. They limit work, not time, so that the same bound is proven on every machine.
struct BoundOptions {
  /// Maximum number of device states to examine, at about 30 million per second. 0: only the bounds that need no
  /// search. Absent: 2000 per op, at most 20 million.
  std::optional<std::int64_t> work = {};
  /// Ends the proof early; the bounds proven so far remain valid.
  const parallel::Cancellation* cancellation = nullptr;
  /// Peak of a known schedule that meets the deadline; larger bounds are not tried.
  std::optional<base::Memory> known_peak = {};
  /// Makespan of a known schedule that fits; larger bounds are not tried.
  std::optional<base::Ticks> known_makespan = {};
};

/// Returns a lower bound on the peak activation of any schedule of `problem` with a makespan of at most `deadline`,
/// independent of the problem's capacity. It is at least Bounds::peak_activation, and Memory::max() if no schedule can
/// end by then. Every bound is valid, but if a proof runs out of work, a later deadline may yield a larger bound than
/// an earlier one.
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
  std::string key;  ///< key of the claim in the file: "bounds.makespan"
  bool refuted = false;
  std::string reason;  ///< reason in words: "610 is above this schedule's 606"
};

/// Returns the claims of `schedule` that are false or not confirmed, in file order. `bound` is a proven makespan bound
/// of its problem. `peak_bound` is a proven peak bound for schedules of the same makespan. A claimed bound is false if
/// it is above the schedule's own value, and confirmed if it is at most the proven one. An `optimal` flag is false if
/// it contradicts the file's own bound, or if it denies an optimum that is proven. REQUIRES: `evaluation` is the
/// evaluation of `schedule`.
std::vector<DisputedClaim> check_claims(const pipeline::Schedule& schedule, const pipeline::Evaluation& evaluation,
                                        base::Ticks bound, base::Memory peak_bound);

}  // namespace dovetail::fuse
