// Staleness of the policy that generated the samples, at the time they are trained on.
//
// The training of an iteration creates one policy version, regardless of its number of optimizer steps. Within an
// iteration, later mini-batches train on samples from before the earlier optimizer steps. This does not count as
// staleness, because it is the same for all compared plans.
#pragma once

#include <optional>
#include <vector>

#include "plan/iteration_graph.h"
#include "plan/timing.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::study {

/// Number of policy versions between sampling and training.
struct Staleness {
  double mean = 0;               ///< mean over tokens
  int max = 0;                   ///< maximum over tokens
  double off_policy_tokens = 0;  ///< fraction of tokens from a version older than the one being trained

  friend bool operator==(const Staleness&, const Staleness&) = default;
};

/// Computes the staleness when by_age[n] tokens are n versions old. All members are 0 if there are no tokens.
Staleness staleness_of(const std::vector<double>& by_age);

/// The first task that generates with a trained role; nullopt if there is no such task.
std::optional<std::size_t> policy_task(const workflow::Workflow& workflow);

/// Staleness of the generating weights in steady state: the number of trainings of earlier iterations that had not
/// ended when generation, or the reallocation that brings its weights, began. At most steps_off_policy. REQUIRES:
/// `generate` is policy_task().
int version_lag(const plan::Job& job, const plan::IterationGraph& graph, const plan::Timing& timing,
                std::size_t generate);

}  // namespace dovetail::study
