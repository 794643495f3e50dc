#include "support/conformance_oracle.h"

#include "support/conformance.h"

namespace dovetail::test {

using pipeline::OpKind;
using pipeline::OpLabel;
using pipeline::ReductionKind;

ConformanceOracle::ConformanceOracle(int model, const pipeline::Model& problem,
                                     const pipeline::ModelPlacement& placement, const pipeline::Exchanges& exchanges)
    : model_(model),
      microbatches_(problem.microbatches),
      has_steps_(problem.has_steps()),
      replicas_(placement.replicas()),
      stages_(placement.stages()),
      members_(placement.tensor_parallel()),
      exchanges_(exchanges) {
  const auto number = static_cast<std::uint64_t>(model);
  for (int stage = 0; stage < stages_; ++stage)
    for (int member = 0; member < members_; ++member)
      weights_[{stage, member}] =
          mix(mix(number, static_cast<std::uint64_t>(stage)), static_cast<std::uint64_t>(member));
  for (int minibatch = 0; minibatch < problem.minibatches; ++minibatch) {
    for (int replica = 0; replica < replicas_; ++replica)
      for (int member = 0; member < members_; ++member) pass(minibatch, replica, member);
    if (has_steps_) step(minibatch);
  }
}

std::uint64_t ConformanceOracle::value(const OpLabel& op, int member) const { return values_.at({op, member}); }

std::uint64_t ConformanceOracle::reduced(ReductionKind kind, int minibatch, int stage, int member) const {
  return reduced_.at({kind, minibatch, stage, member});
}

void ConformanceOracle::pass(int minibatch, int replica, int member) {
  const auto label = [&](OpKind kind, int stage, int microbatch) {
    return std::pair(OpLabel{kind, base::ModelId(model_), base::ReplicaId(replica), base::StageId(stage),
                             base::MicrobatchId(microbatch)},
                     member);
  };
  for (int m = minibatch * microbatches_; m < (minibatch + 1) * microbatches_; ++m) {
    const auto number = static_cast<std::uint64_t>(m);
    std::vector<std::uint64_t> made;
    std::uint64_t value = mix(static_cast<std::uint64_t>(replica), number);
    for (int stage = 0; stage < stages_; ++stage) {
      value = mix(mix(value, weights_.at({stage, member})), number);
      made.push_back(value);
      values_[label(OpKind::F, stage, m)] = value;
    }
    value = 0;
    for (int stage = stages_ - 1; stage >= 0; --stage) {
      const std::uint64_t held = made[static_cast<std::size_t>(stage)];
      value = mix(mix(value, held), weights_.at({stage, member}));
      const std::uint64_t gradient = mix(value, held);
      values_[label(OpKind::B, stage, m)] = values_[label(OpKind::I, stage, m)] = value;
      values_[label(OpKind::W, stage, m)] = gradient;
      std::uint64_t& sum = gradients_[{stage, replica, member}];
      sum = (sum + gradient) % conformance_prime;
      std::uint64_t& tie = ties_[{minibatch, member}];
      for (const int end : {0, stages_ - 1})
        if (stage == end) tie = (tie + mix(gradient, 7)) % conformance_prime;
    }
  }
}

void ConformanceOracle::step(int minibatch) {
  std::uint64_t norm = 0;
  for (int member = 0; member < members_; ++member)
    for (int stage = 0; stage < stages_; ++stage) {
      std::uint64_t sum = 0;
      for (int replica = 0; replica < replicas_; ++replica) sum += gradients_.at({stage, replica, member});
      sum %= conformance_prime;
      reduced_[{ReductionKind::gradients, minibatch, stage, member}] = sum;
      norm = (norm + sum * static_cast<std::uint64_t>(replicas_)) % conformance_prime;
    }
  for (int member = 0; member < members_; ++member) {
    const std::uint64_t tie = ties_.at({minibatch, member});
    reduced_[{ReductionKind::tied, minibatch, -1, member}] = tie;
    reduced_[{ReductionKind::norm, minibatch, -1, member}] = norm;
    for (int stage = 0; stage < stages_; ++stage) {
      std::uint64_t& weight = weights_.at({stage, member});
      const bool is_tied = exchanges_.tied && (stage == 0 || stage + 1 == stages_);
      weight = mix(weight, reduced_.at({ReductionKind::gradients, minibatch, stage, member}));
      weight = mix(mix(weight, is_tied ? tie : 0), exchanges_.clips_by_norm ? norm : 0);
      std::uint64_t shares = 0;
      for (int replica = 0; replica < replicas_; ++replica) {
        const OpLabel op{OpKind::S, base::ModelId(model_), base::ReplicaId(replica), base::StageId(stage),
                         base::MicrobatchId(minibatch)};
        values_[{op, member}] = weight;
        shares += mix(weight, static_cast<std::uint64_t>(replica));
        gradients_.at({stage, replica, member}) = 0;
      }
      reduced_[{ReductionKind::weights, minibatch, stage, member}] = shares % conformance_prime;
      if (exchanges_.shards_steps) weight = shares % conformance_prime;
    }
  }
}

}  // namespace dovetail::test
