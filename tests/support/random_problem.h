// Small random problems for property tests: valid, uneven, with every feature that a problem file has.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <optional>

#include "pipeline/problem/problem.h"

namespace dovetail::test {

/// Features of the problems. A disabled feature never appears; an enabled one appears in some problems.
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
  bool weight_activation = true;  ///< with a split backward: W may need less than the whole activation
  bool steps = true;              ///< optimizer steps, some of which take no time
  bool step_waits = true;         ///< steps that wait for all stages, forwards that wait for the steps of all replicas
  bool resident = true;
  bool capacity = false;                ///< capacity, possibly too small for any schedule
  std::optional<std::int64_t> max_ops;  ///< limit of count_split_ops; nullopt: no limit
};

/// Returns the problem of this seed, which is the same on every machine.
pipeline::Problem random_problem(std::uint64_t seed, const RandomProblemOptions& options = {});

/// Returns the number of ops, counting every split backward as two.
std::int64_t count_split_ops(const pipeline::Problem& problem);

/// RapidCheck generator of the same problems.
rc::Gen<pipeline::Problem> problems(const RandomProblemOptions& options = {});

}  // namespace dovetail::test
