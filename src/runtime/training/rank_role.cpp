#include "runtime/training/rank_role.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/assert.h"
#include "llm/tensors.h"

namespace dovetail::runtime {
namespace {

using control::TrainingSums;

using SumsAsNumbers = std::array<double, sizeof(TrainingSums) / sizeof(double)>;

}  // namespace

void RankRole::close(std::size_t minibatch) {
  if (closed_ > minibatch) return;
  closed_ = minibatch + 1;
  for (StageState* const state : states) join_tied_gradients(state->model.weights);
  const std::vector<Tensor> tied = tied_gradients();
  if (tied.size() < 2) return;
  tied[0].add_(tied[1]);
  tied[1].copy_(tied[0]);
}

std::vector<Tensor> RankRole::tied_gradients() const {
  std::vector<Tensor> tied;
  for (const StageState* const state : states) {
    const Weights& weights = state->model.weights;
    const std::int64_t size = weights.values.numel() - weights.apart;
    if (size > 0) tied.push_back(weights.gradients.narrow(0, weights.apart, size));
  }
  DOVETAIL_ASSERT(tied.size() <= 2);
  return tied;
}

std::vector<double> RankRole::findings(std::size_t minibatch) const {
  DOVETAIL_ASSERT(!states.empty());
  const std::size_t tensors = llm::tensors_of(states.front()->model.weights.shape).size();
  std::vector<double> numbers(tensors, 0.0);
  for (const StageState* const state : states) {
    if (!state->is_sharded && state->replica > 0) continue;
    for (const WeightPart& part : state->optimizer.parts) {
      const Parameter& parameter = state->model.weights.parameters[part.parameter];
      if (!parameter.is_copy()) numbers[parameter.place] += squares_of(state->model.weights, part);
    }
  }
  for (std::size_t replica = 0; replica < training.replicas(); ++replica) {
    const auto sums = std::bit_cast<SumsAsNumbers>(training.sums(replica, minibatch));
    numbers.insert(numbers.end(), sums.begin(), sums.end());
  }
  return numbers;
}

void RankRole::finish(std::size_t minibatch, const std::vector<double>& findings) {
  const std::size_t tensors = findings.size() - training.replicas() * std::tuple_size_v<SumsAsNumbers>;
  MiniBatchResult result;
  double squares = 0;
  for (std::size_t i = 0; i < tensors; ++i) squares += findings[i];
  result.norm = std::sqrt(squares);
  auto at = findings.begin() + static_cast<std::ptrdiff_t>(tensors);
  for (std::size_t replica = 0; replica < training.replicas(); ++replica) {
    SumsAsNumbers sums;
    std::copy_n(at, sums.size(), sums.begin());
    at += static_cast<std::ptrdiff_t>(sums.size());
    result.sums.add(std::bit_cast<TrainingSums>(sums));
  }
  training.finish(minibatch, result);
}

}  // namespace dovetail::runtime
