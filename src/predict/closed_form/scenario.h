// What all predictions of a job are calculated from.
#pragma once

#include <cstddef>
#include <vector>

#include "cost/batches.h"
#include "cost/model_facts.h"
#include "parallel/cancellation.h"
#include "plan/job.h"
#include "predict/closed_form/software.h"
#include "workflow/lengths.h"

namespace dovetail::predict {

/// What all activities of all plans of a job are calculated from, worked out once, and who may stop that, which must
/// outlive it.
struct Scenario {
  plan::Job job;
  Software software;
  std::vector<cost::ModelFacts> models;  ///< [role]
  workflow::LengthDistribution lengths;  ///< of prompt and response together
  /// What passes of infer and train tasks work on: lengths, all the longest where rows are padded.
  workflow::LengthDistribution rows;
  /// Long work of this folder looks at it, and ends with the best so far. Null: nobody stops it.
  const parallel::Cancellation* cancellation = nullptr;

  bool is_stopped() const { return parallel::is_requested(cancellation); }
};
Scenario scenario_of(const plan::Job& job, const Software& software,
                     const parallel::Cancellation* cancellation = nullptr);

/// The same with somebody else who may stop it.
Scenario stopped_by(const Scenario& scenario, const parallel::Cancellation& cancellation);

/// The facts of the model of a task. REQUIRES: the task is no rule.
const cost::ModelFacts& facts_of(const Scenario& scenario, std::size_t task);

/// What an infer or train task works on in an iteration: of training all epochs, with pretraining tokens as sequences
/// of the same kind, and the sequences of a preference pair together. REQUIRES: the task is one of these.
cost::Batch batch_of(const Scenario& scenario, std::size_t task);

/// Sequences of an iteration that the train task with the most of them trains on, or samples where these are more: two
/// for each sample that is a preference pair. Throughput in tokens counts these.
double sequences_of_iteration(const plan::Job& job);

}  // namespace dovetail::predict
