// A task that scores samples, as simulations see it.
//
// Micro-batches of samples that are scored, and what they take on several replicas of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/quantity.h"
#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/layout.h"
#include "plan/task_plan.h"
#include "simulate/sample.h"

namespace dovetail::simulate {

/// A task that scores samples. Its facts must outlive whatever is made of it.
struct InferTask {
  const cost::ModelFacts& facts;
  /// As planned for all devices; a replica is one data-parallel rank of it, whatever their number here.
  llm::Layout layout;
  plan::MicroBatching micro_batching;
  cost::Machine machine;
  cost::Efficiency efficiency;
  base::Ticks load;                     ///< until its devices have its weights from host memory
  std::vector<std::size_t> after = {};  ///< tasks of the same list whose answers it reads, each before it
  std::int32_t task = 0;                ///< Span::task
  base::Ticks alone =
      {};  ///< inference of all samples on all devices, where nothing else is there; without load and hand-over
  std::int64_t held = 0;  ///< bytes on each device while a worker has its model
  base::Ticks hand_over =
      {};  ///< until a worker that never scored for the task is told of it and can receive its samples
  base::Ticks gathering = {};  ///< until a worker has its weights from other devices, behind `load`

  int replica_devices() const { return layout.devices() / layout.data; }
};

/// What one replica takes at a time.
struct MicroBatchLimit {
  double sequences = 0;       ///< at most so many; 0: no limit
  double tokens = 0;          ///< at most so many, but at least one sequence; 0: no limit
  double worker_seconds = 0;  ///< that a sample of the mean length keeps a replica busy
};

/// Of a task that scores all these samples in its own layout: a number of micro-batches is a number of sequences for
/// each.
MicroBatchLimit limit_of(const InferTask& task, const std::vector<Sample>& samples);

/// Takes from the front of `queue` a micro-batch for each replica, at most `most` samples, at least one.
std::vector<std::size_t> take_from(std::deque<std::size_t>& queue, std::size_t most, const MicroBatchLimit& limit,
                                   double replicas, const std::vector<Sample>& samples);

/// Seconds of a micro-batch on each of several replicas.
struct BatchSeconds {
  double next = 0;    ///< until the next one can come
  double done = 0;    ///< until it is through all stages
  double launch = 0;  ///< of `next`: waiting for launches
};

/// The samples' tokens are shared out evenly over the replicas, or over as many as there are samples. REQUIRES: at
/// least one sample.
BatchSeconds seconds_of(const InferTask& task, const std::vector<std::size_t>& batch, double replicas,
                        const std::vector<Sample>& samples);

}  // namespace dovetail::simulate
