// An inference task in simulations, and the micro-batches in which it scores samples.
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

/// A task that scores samples on workers (inference.h). Its facts must outlive everything built from it.
struct InferTask {
  const cost::ModelFacts& facts;
  /// Layout planned for all devices of the task. A replica is one of its data-parallel ranks; simulations may run any
  /// number of replicas.
  llm::Layout layout;
  plan::MicroBatching micro_batching;
  cost::Machine machine;
  cost::Efficiency efficiency;
  base::Ticks load;                     ///< time to load its weights from host memory
  std::vector<std::size_t> after = {};  ///< indices of earlier tasks in the same list whose results it reads
  std::int32_t task = 0;                ///< value of Span::task in the trace
  base::Ticks uncontended = {};  ///< time to score all samples on all devices without other work, loading or hand-over
  std::int64_t held = 0;         ///< bytes on each device while a worker has its model
  base::Ticks hand_over = {};    ///< time until a worker that is new to the task can receive samples
  base::Ticks gathering = {};    ///< time to gather weights from other devices, after `load`

  int replica_devices() const { return layout.devices() / layout.data; }
};

/// Limits of a replica's micro-batch.
struct MicroBatchLimit {
  double sequences = 0;       ///< maximum number of sequences; 0: no limit
  double tokens = 0;          ///< maximum number of tokens, except for a single sequence; 0: no limit
  double worker_seconds = 0;  ///< time that a sample of mean length occupies a replica
};

/// Returns the limits for scoring all these samples in the task's planned layout. A fixed number of micro-batches is
/// converted to a maximum number of sequences in each.
MicroBatchLimit limit_of(const InferTask& task, const std::vector<Sample>& samples);

/// Removes and returns the samples of one micro-batch per replica from the front of `queue`: at least one sample, at
/// most `most` in total.
std::vector<std::size_t> take_from(std::deque<std::size_t>& queue, std::size_t most, const MicroBatchLimit& limit,
                                   double replicas, const std::vector<Sample>& samples);

/// Seconds of a micro-batch on each of several replicas.
struct BatchSeconds {
  double next = 0;    ///< seconds until the next micro-batch can enter
  double done = 0;    ///< seconds until this micro-batch has passed all stages
  double launch = 0;  ///< seconds of `next` spent waiting for launches
};

/// Returns the seconds of a batch whose tokens are split evenly over `replicas` replicas, or over one replica per
/// sample if there are fewer samples. REQUIRES: at least one sample.
BatchSeconds seconds_of(const InferTask& task, const std::vector<std::size_t>& batch, double replicas,
                        const std::vector<Sample>& samples);

}  // namespace dovetail::simulate
