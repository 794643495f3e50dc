#include "runtime/training/torch_reducer.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>

#include "base/assert.h"
#include "runtime/training/tensor_numbers.h"
#include "transport/collectives.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using pipeline::Reduction;
using pipeline::ReductionKind;

/// One reduction, under way on this rank.
struct Exchange {
  transport::Collectives& collectives;
  transport::Deadline deadline;
  std::span<const int> ranks;
  std::uint32_t number;  ///< of its first collective; the next one is the second's

  transport::Group group(std::uint32_t collective = 0) const {
    return {ranks, number + collective, transport::Lane::reductions};
  }

  Status sum(const Tensor& vector, const at::Device& device) const {
    return with_numbers(vector, device, collectives, [&](const transport::Numbers& numbers) {
      return collectives.all_reduce(group(), numbers, deadline);
    });
  }

  Status sum_gradients(RankRole& role, StageState& state, std::size_t minibatch) const {
    const Weights& weights = state.model.weights;
    if (weights.has_embedding() && weights.has_head()) role.close(minibatch);
    const Tensor own = weights.gradients.narrow(0, 0, weights.apart);
    if (!state.is_sharded) return sum(own, own.device());
    return with_numbers(own, own.device(), collectives, [&](const transport::Numbers& numbers) {
      return collectives.reduce_scatter(group(), numbers, deadline);
    });
  }

  Status sum_tied(RankRole& role, std::size_t minibatch) const {
    role.close(minibatch);
    const std::vector<Tensor> tied = role.tied_gradients();
    DOVETAIL_ASSERT(!tied.empty());
    DOVETAIL_CHECK(sum(tied[0], tied[0].device()));
    if (tied.size() > 1) tied[1].copy_(tied[0]);
    return {};
  }

  Status find_norm(RankRole& role, std::size_t minibatch) const {
    role.close(minibatch);
    std::vector<double> findings = role.findings(minibatch);
    const Tensor numbers = at::from_blob(findings.data(), {static_cast<std::int64_t>(findings.size())}, at::kDouble);
    DOVETAIL_CHECK(sum(numbers, role.device()));
    role.finish(minibatch, findings);
    return {};
  }

  Status gather_weights(const Weights& weights) const {
    const Tensor& values = weights.values;
    DOVETAIL_CHECK(gather(values.narrow(0, 0, weights.apart), 0));
    return gather(values.narrow(0, weights.apart, values.numel() - weights.apart), 1);
  }

  Status gather(const Tensor& vector, std::uint32_t collective) const {
    return with_numbers(vector, vector.device(), collectives, [&](const transport::Numbers& numbers) {
      return collectives.all_gather(group(collective), numbers, deadline);
    });
  }
};

}  // namespace

Status TorchReducer::reduce(const Reduction& reduction, std::uint32_t number, transport::Collectives& collectives,
                            transport::Deadline deadline) {
  const c10::InferenceMode no_autograd;
  RankRole& role = *roles_[reduction.model.index()];
  const c10::DeviceGuard computes_on(role.device());
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
