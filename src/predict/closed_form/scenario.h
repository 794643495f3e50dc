// Data that all predictions of a job share.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cost/batches.h"
#include "cost/conventions.h"
#include "cost/model_facts.h"
#include "parallel/cancellation.h"
#include "plan/job.h"
#include "plan/task_plan.h"
#include "predict/closed_form/software.h"
#include "workflow/lengths.h"

namespace dovetail::predict {

/// Everything that predictions for one job share, computed once. `cancellation` must outlive it.
struct Scenario {
  plan::Job job;
  Software software;
  std::vector<cost::ModelFacts> models;  ///< [role]
  workflow::LengthDistribution lengths;  ///< lengths of prompt and response together
  /// Lengths of the rows that infer and train tasks process. All have the maximum length if rows are padded.
  workflow::LengthDistribution rows;
  /// Long computations check it. If cancellation is requested, they end with the best result so far. Null: never
  /// canceled.
  const parallel::Cancellation* cancellation = nullptr;

  bool is_stopped() const { return parallel::is_requested(cancellation); }
};
Scenario scenario_of(const plan::Job& job, const Software& software,
                     const parallel::Cancellation* cancellation = nullptr);

/// Returns a copy of `scenario` that checks `cancellation`, which must outlive the copy.
Scenario stopped_by(const Scenario& scenario, const parallel::Cancellation& cancellation);

/// Returns the facts of the task's model. REQUIRES: the task is not a rule.
const cost::ModelFacts& facts_of(const Scenario& scenario, std::size_t task);

/// Returns the batch of an infer or train task in an iteration. Training includes all epochs, and pretraining tokens
/// count as sequences with the same length distribution. The sequences of a preference pair stay together. REQUIRES:
/// the task infers or trains.
cost::Batch batch_of(const Scenario& scenario, std::size_t task);

/// Returns the number of sequences in an iteration: the largest number of any train task, but at least the number of
/// samples. A preference pair counts as two sequences. Token throughput is based on this number.
double sequences_of_iteration(const plan::Job& job);

/// Sets the precision of an engine's weights and KV cache in the facts of a model. With 8 bits, the weights of all
/// layers are quantized. With fewer bits, every 32 weights share a 16-bit scale, and a model with routed experts
/// quantizes only the experts. Embedding and head keep their precision. If weights or KV cache are quantized, measured
/// decode steps are dropped. REQUIRES: facts.element_bytes and facts.profiles are set for the job.
void take_engine_bits(const plan::Software& settings, cost::ModelFacts& facts);

/// Returns the share of a role's optimizer that is stored and stepped on the host. 0 if all of it is on the device.
inline double host_share(const plan::TaskPlan& planned, const cost::Conventions& conventions) {
  return planned.offload.optimizer_on_host ? conventions.optimizer_host_share : 0;
}

/// Returns `share` of `bytes`, rounded.
inline std::int64_t part_of(std::int64_t bytes, double share) {
  return std::llround(static_cast<double>(bytes) * share);
}

}  // namespace dovetail::predict
