// How old the policy is that samples come from, by the time that they are trained on.
//
// A version is what the training of one iteration makes of a policy, however many optimizer steps that has: that later
// mini-batches of an iteration train on samples of before the earlier ones is so in every row of a comparison, and not
// counted.
#pragma once

#include <optional>
#include <vector>

#include "plan/iteration_graph.h"
#include "plan/timing.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::study {

/// Policy versions between sampling and training.
struct Staleness {
  double mean = 0;               ///< of tokens
  int most = 0;                  ///< of any token
  double off_policy_tokens = 0;  ///< part of the tokens that are of an older version than the one that trains on them

  friend bool operator==(const Staleness&, const Staleness&) = default;
};

/// Of tokens of which by_age[n] are n versions old; none is new where there is none.
Staleness staleness_of(const std::vector<double>& by_age);

/// The first task that generates with a role that is trained; nothing where the workflow has none, and no policy that
/// could be old.
std::optional<std::size_t> policy_task(const workflow::Workflow& workflow);

/// How many trainings the weights that generate are behind, in steady iterations: of those before the iteration's own,
/// how many had not ended when generation, or the reallocation that brings its weights, began. At most
/// steps_off_policy. `steps`: [step of the graph]. REQUIRES: `generate` is policy_task().
int version_lag(const plan::Job& job, const plan::IterationGraph& graph, const plan::Timing& timing,
                std::size_t generate);

}  // namespace dovetail::study
