// The bundled problems: the twelve of FlexFusion, with their published results, and two large ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/problem.h"

namespace dovetail::pipeline {

/// What FlexFusion's repository reports for an instance.
struct PublishedResult {
  Ticks bound;
  Ticks makespan;
  Memory peak_activation;                           ///< of the search
  std::optional<Memory> peak_activation_optimized;  ///< after its separate memory optimizer, where it was run
  Ticks greedy_makespan;
  Memory greedy_peak_activation;
  Ticks serial_makespan;  ///< one model after the other with 1F1B
  Memory serial_peak_activation;
};

struct Instance {
  std::string name;
  std::string summary;  ///< "33B on 8 stages x 32 micro-batches, 2 x 13B on 4 stages x 16"
  Problem problem;
  std::optional<PublishedResult> published;
};

/// All bundled instances: exp0 ... exp11, scale64, scale256.
const std::vector<Instance>& instances();

/// The instance of that name, if there is one.
const Instance* find_instance(std::string_view name);

}  // namespace dovetail::pipeline
