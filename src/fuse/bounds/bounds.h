// Proven limits: no schedule of a problem is faster, or needs less memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parallel/cancellation.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// Lower bounds on the makespan, each by its own argument (proofs in docs/bounds.md). `makespan` is the largest.
struct Bounds {
  base::Ticks path;            ///< the longest chain of ops that wait for each other
  base::Ticks work;            ///< the busiest device's work
  base::Ticks head_work_tail;  ///< over devices and subsets of models: least head + work + least tail (RLHFuse 7.3, for
                               ///< every subset)
  base::Ticks one_machine;     ///< over devices: Jackson's preemptive schedule of its ops with their heads and tails
  base::Ticks makespan;
  base::Memory peak_activation;  ///< for any schedule: one micro-batch of a pipeline is on all its stages at once
  std::vector<base::Ticks> head_work_tail_by_device;
  std::vector<base::Ticks> one_machine_by_device;
};

/// All bounds of `problem`.
Bounds bounds_of(const pipeline::Problem& problem);

/// A lower bound on the peak activation of any schedule of `problem`: Bounds::peak_activation.
base::Memory peak_activation_bound(const pipeline::Problem& problem);

/// The devices on which no schedule of `problem` fits, within its capacity and `cap` (the smaller holds): what is
/// resident and the least activation that any schedule holds there at some moment (one micro-batch of a pipeline on all
/// its stages) are more. Empty does not say that there is a schedule that fits.
std::vector<pipeline::CapacityExcess> find_impossible(const pipeline::Problem& problem,
                                                      std::optional<base::Memory> cap);

/// What a proof may cost. The work, not the time, is limited: the same bound is proven on every machine.
struct BoundOptions {
  /// States of devices to look at, some 30 million a second. 0: sums only. Absent: 2000 for each op, at most 20
  /// million.
  std::optional<std::int64_t> work = {};
  const parallel::Cancellation* cancellation = nullptr;  ///< ends the proof early; what was proven until then holds
  std::optional<base::Memory> known_peak = {};           ///< of a schedule that keeps the deadline: more is not tried
  std::optional<base::Ticks> known_makespan = {};        ///< of a schedule that fits: more is not tried
};

/// A lower bound on the peak activation of any schedule of `problem` whose makespan is at most `deadline`, whatever the
/// problem's capacity. At least Bounds::peak_activation; Memory::max() where it is proven that no schedule ends by
/// then. A later deadline or another limit of work may happen to give a larger bound, mostly where all of the work was
/// needed: each of them holds.
base::Memory peak_activation_bound(const pipeline::Problem& problem, base::Ticks deadline,
                                   const BoundOptions& options = {});

/// A lower bound on the makespan of any schedule of `problem` that fits: that holds, with what is resident, at most the
/// problem's capacity and `cap` (the smaller) on each device. At least bounds_of(problem).makespan, and no more than
/// that where no schedule fits (find_impossible).
base::Ticks makespan_bound(const pipeline::Problem& problem, std::optional<base::Memory> cap,
                           const BoundOptions& options = {});

}  // namespace dovetail::fuse
