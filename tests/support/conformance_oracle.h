// Computes the results of the conformance suite model by model, without ranks.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "pipeline/program/compile.h"
#include "pipeline/program/placement.h"

namespace dovetail::test {

/// Results of one model.
class ConformanceOracle {
 public:
  ConformanceOracle(int model, const pipeline::Model& problem, const pipeline::ModelPlacement& placement,
                    const pipeline::Exchanges& exchanges);

  /// Returns the result of an op on the rank with this index in its group: for F the activation, for B and I the
  /// gradient for the previous stage, for W the gradient of the weight, for S the weight.
  std::uint64_t value(const pipeline::OpLabel& op, int member) const;
  /// Return the weight, or the gradient of a replica, after the last op of the program.
  std::uint64_t weight(int stage, int member) const { return weights_.at({stage, member}); }
  std::uint64_t gradient(int stage, int replica, int member) const { return gradients_.at({stage, replica, member}); }
  /// Returns the result of a reduction.
  std::uint64_t reduced(pipeline::ReductionKind kind, int minibatch, int stage, int member) const;

 private:
  void pass(int minibatch, int replica, int member);
  void step(int minibatch);

  int model_;
  int microbatches_;
  bool has_steps_;
  int replicas_;
  int stages_;
  int members_;
  pipeline::Exchanges exchanges_;
  std::map<std::pair<int, int>, std::uint64_t> weights_;
  std::map<std::tuple<int, int, int>, std::uint64_t> gradients_;  ///< (stage, replica, member)
  std::map<std::pair<int, int>, std::uint64_t> ties_;             ///< (mini-batch, member)
  std::map<std::pair<pipeline::OpLabel, int>, std::uint64_t> values_;
  std::map<std::tuple<pipeline::ReductionKind, int, int, int>, std::uint64_t> reduced_;
};

}  // namespace dovetail::test
