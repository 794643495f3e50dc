// Proven limits: no schedule of a problem is faster, or needs less memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/evaluate.h"
#include "pipeline/op_graph.h"
#include "pipeline/problem.h"

namespace dovetail::fuse {

/// Lower bounds on the makespan, each by its own argument (proofs in docs/bounds.md). `makespan` is the largest.
struct Bounds {
  base::Ticks path;            ///< the longest chain of ops that wait for each other
  base::Ticks work;            ///< the busiest device's work
  base::Ticks head_work_tail;  ///< over devices and subsets of models: least head + work + least tail (RLHFuse 7.3, for every subset)
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

/// The devices on which no schedule of `problem` fits, within its capacity and `cap` (the smaller holds): what is resident and the
/// least activation that any schedule holds there at some moment (one micro-batch of a pipeline on all its stages) are more. Empty
/// does not say that there is a schedule that fits.
std::vector<pipeline::CapacityExcess> find_impossible(const pipeline::Problem& problem, std::optional<base::Memory> cap);

/// A lower bound on the peak activation of any schedule of `problem` whose makespan is at most `deadline`: what must be in flight at
/// some moment because the forwards that have to have started outnumber the backwards that can have ended. At least
/// Bounds::peak_activation. REQUIRES: deadline >= bounds_of(problem).makespan, or nothing is claimed.
base::Memory peak_activation_bound(const pipeline::Problem& problem, base::Ticks deadline);

}  // namespace dovetail::fuse
