// Small random problems for property tests: valid, uneven, with every feature that a problem file has.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <optional>

#include "pipeline/problem/problem.h"

namespace dovetail::test {

/// Which problems to make. What is switched off is never there; what is on is there in some.
struct RandomProblemOptions {
  int max_models = 3;
  int max_stages = 4;
  int max_microbatches = 4;  ///< per mini-batch
  int max_replicas = 2;
  int max_minibatches = 2;
  int max_devices = 4;
  int max_op = 6;              ///< ticks; transfers last at most half of it
  bool uneven = true;          ///< times and activations that differ between stages
  bool shared_devices = true;  ///< several stages of a pipeline on one device
  bool transfers = true;
  bool split = true;
  bool weight_activation = true;  ///< less than the whole activation, in problems with split backward
  bool steps = true;              ///< also optimizer steps that take no time
  bool step_waits = true;         ///< steps that wait for all stages, forwards that wait for the steps of all replicas
  bool resident = true;
  bool capacity = false;                ///< one that may be too small for any schedule
  std::optional<std::int64_t> max_ops;  ///< with every split backward as two ops
};

/// The problem of that seed; the same on every machine.
pipeline::Problem random_problem(std::uint64_t seed, const RandomProblemOptions& options = {});

/// How many ops the problem has, with every split backward as two ops.
std::int64_t count_split_ops(const pipeline::Problem& problem);

/// RapidCheck's generator of the same problems.
rc::Gen<pipeline::Problem> problems(const RandomProblemOptions& options = {});

}  // namespace dovetail::test
