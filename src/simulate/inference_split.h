// Forms workers from devices that are free for inference, and chooses the model that each loads first.
#pragma once

#include <cstddef>
#include <vector>

#include "simulate/inference.h"

namespace dovetail::simulate {

/// A device that is available for inference from a time on.
struct FreeDevice {
  int device = 0;
  base::Ticks from;

  friend auto operator<=>(const FreeDevice&, const FreeDevice&) = default;
};

/// Workers, and the inference that they run.
struct SplitInference {
  std::vector<Worker> workers;
  Inference inference;
};

/// Forms workers from these devices in order: as many as possible of the size of the largest replica that fits, then of
/// the next size. `left` receives the devices that are too few for any replica.
std::vector<Worker> fill(const std::vector<InferTask>& tasks, const std::vector<FreeDevice>& devices,
                         std::vector<FreeDevice>& left);

/// Returns whether all tasks can be served: a replica of each fits on the `freed` or on the `later` devices.
bool can_split(const std::vector<InferTask>& tasks, std::size_t freed, std::size_t later);

/// Runs infer() with the best start, the one with which inference ends earliest.
///
/// A start assigns a number of replicas to each task, all on the freed devices. Each replica is a separate worker that
/// loads its task's model first. Workers are ordered by size. The remaining freed devices are filled with workers that
/// start by the rules of inference.h. The later devices are always filled, together with freed devices that are left
/// over. Starts are tried in this order, and ties go to the earlier one:
///
/// - No replicas: all workers start by the rules.
/// - For each task, the same workers, except that those of freed devices load its model first if a replica fits.
/// - All combinations of replica numbers in which the last task gets as many replicas as still fit, if there are at
///   most 64 combinations.
/// - Otherwise, numbers that balance the work per replica of the tasks, improved by moving a worker's devices from one
///   task to another while that helps.
///
/// With a single task only the first start is tried. Starts that leave a task without a worker are skipped. Without
/// tasks there are no workers. REQUIRES: can_split().
SplitInference infer_best(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples,
                          const std::vector<base::Ticks>& ready, std::vector<FreeDevice> freed,
                          std::vector<FreeDevice> later);

}  // namespace dovetail::simulate
