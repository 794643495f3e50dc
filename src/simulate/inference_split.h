// How devices that are free to score are made into workers, and whose model each of these loads first.
#pragma once

#include <cstddef>
#include <vector>

#include "simulate/inference.h"

namespace dovetail::simulate {

/// A device that scores from this time on.
struct FreeDevice {
  int device = 0;
  base::Ticks from;

  friend auto operator<=>(const FreeDevice&, const FreeDevice&) = default;
};

/// Workers, and what they do.
struct SplitInference {
  std::vector<Worker> workers;
  Inference inference;
};

/// Workers of these devices, in their order: as many as there is room for of the size of the largest replica that fits,
/// then of the next one. `left`: what is too little for any replica.
std::vector<Worker> fill(const std::vector<InferTask>& tasks, const std::vector<FreeDevice>& devices,
                         std::vector<FreeDevice>& left);

/// Whether some way to begin serves all tasks: each replica fits on the `freed` or on the `later` devices.
bool can_split(const std::vector<InferTask>& tasks, std::size_t freed, std::size_t later);

/// infer() with the best way to begin, such that all ends soonest. A way is a number of replicas of each task, all of
/// them on the freed devices: a worker for each replica, in the order of size, which loads that task's model first;
/// what devices that leaves are filled with workers that begin by the rules. The later devices are always filled, with
/// what is left of the freed ones. Tried are no replicas, so that all begins by the rules; the same workers, but each
/// that a task's replica fits on begins with that task; and all numbers that leave no room for another replica, where
/// they are at most 64. Else numbers such that the most work of a task for each of its replicas is least, and these
/// with the replicas on one worker's devices moved from one task to another, as long as that gains. Ties: the earlier
/// in this list. Ways that leave a task without a worker that it fits on are none. Without tasks there are no workers.
/// REQUIRES: can_split().
SplitInference infer_best(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples,
                          const std::vector<base::Ticks>& ready, std::vector<FreeDevice> freed,
                          std::vector<FreeDevice> later);

}  // namespace dovetail::simulate
