#include "runtime/training/torch_reducer.h"

#include <c10/core/InferenceMode.h>

#include <span>

#include "base/assert.h"
#include "transport/collectives.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using pipeline::Reduction;
using pipeline::ReductionKind;

/// The elements [begin, end) of a flat tensor.
transport::Numbers numbers_of(const Tensor& flat, std::int64_t begin, std::int64_t end) {
  const auto size = static_cast<std::size_t>(end - begin);
  if (flat.scalar_type() == at::kDouble) return std::span(flat.data_ptr<double>() + begin, size);
  return std::span(flat.data_ptr<float>() + begin, size);
}

/// One reduction, under way on this rank.
struct Exchange {
  transport::Collectives& collectives;
  transport::Deadline deadline;
  std::span<const int> ranks;
  std::uint32_t number;  ///< of its first collective; the next one is the second's

  transport::Group group(std::uint32_t collective = 0) const {
    return {ranks, number + collective, transport::Lane::reductions};
  }

  Status sum_gradients(RankRole& role, StageState& state, std::size_t minibatch) const {
    const Weights& weights = state.model.weights;
    if (weights.has_embedding() && weights.has_head()) role.close(minibatch);
    const transport::Numbers numbers = numbers_of(weights.gradients, 0, weights.apart);
    return state.is_sharded ? collectives.reduce_scatter(group(), numbers, deadline)
                            : collectives.all_reduce(group(), numbers, deadline);
  }

  Status sum_tied(RankRole& role, std::size_t minibatch) const {
    role.close(minibatch);
    const std::vector<Tensor> tied = role.tied_gradients();
    DOVETAIL_ASSERT(!tied.empty());
    DOVETAIL_CHECK(collectives.all_reduce(group(), numbers_of(tied[0], 0, tied[0].numel()), deadline));
    if (tied.size() > 1) tied[1].copy_(tied[0]);
    return {};
  }

  Status find_norm(RankRole& role, std::size_t minibatch) const {
    role.close(minibatch);
    std::vector<double> findings = role.findings(minibatch);
    DOVETAIL_CHECK(collectives.all_reduce(group(), std::span(findings), deadline));
    role.finish(minibatch, findings);
    return {};
  }

  Status gather_weights(const Weights& weights) const {
    const Tensor& values = weights.values;
    DOVETAIL_CHECK(collectives.all_gather(group(0), numbers_of(values, 0, weights.apart), deadline));
    return collectives.all_gather(group(1), numbers_of(values, weights.apart, values.numel()), deadline);
  }
};

}  // namespace

Status TorchReducer::reduce(const Reduction& reduction, std::uint32_t number, transport::Collectives& collectives,
                            transport::Deadline deadline) {
  const c10::InferenceMode no_autograd;
  RankRole& role = *roles_[reduction.model.index()];
  const auto minibatch = static_cast<std::size_t>(reduction.minibatch);
  const Exchange exchange{collectives, deadline, reduction.ranks, 2 * number};
  switch (reduction.kind) {
    case ReductionKind::gradients:
      return exchange.sum_gradients(role, *stages_[static_cast<std::size_t>(reduction.stage)], minibatch);
    case ReductionKind::tied:
      return exchange.sum_tied(role, minibatch);
    case ReductionKind::norm:
      return exchange.find_norm(role, minibatch);
    case ReductionKind::weights:
      break;
  }
  return exchange.gather_weights(stages_[static_cast<std::size_t>(reduction.stage)]->model.weights);
}

}  // namespace dovetail::runtime
