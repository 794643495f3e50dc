#include "runtime/training/role_training.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "batching/micro_batches.h"
#include "llm/tensors.h"

namespace dovetail::runtime {
namespace {

batching::Assignment assign(const std::vector<std::int64_t>& lengths, const plan::MicroBatching& micro_batching) {
  if (micro_batching.count > 0) return batching::exactly(lengths, static_cast<std::size_t>(micro_batching.count));
  if (micro_batching.tokens > 0)
    return batching::first_fit_decreasing(lengths, static_cast<std::int64_t>(micro_batching.tokens));
  if (micro_batching.sequences > 0)
    return batching::by_count(lengths.size(), static_cast<std::size_t>(micro_batching.sequences));
  return batching::by_count(lengths.size(), std::max<std::size_t>(1, lengths.size()));
}

/// Returns the tokens of each unit of `together` sequences.
std::vector<std::int64_t> lengths_of(std::span<const control::TokenSequence> sequences, std::size_t together) {
  DOVETAIL_ASSERT(together >= 1 && sequences.size() % together == 0);
  std::vector<std::int64_t> lengths(sequences.size() / together);
  for (std::size_t i = 0; i < sequences.size(); ++i)
    lengths[i / together] += static_cast<std::int64_t>(sequences[i].tokens.size());
  return lengths;
}

/// Returns the sequences of some units.
std::vector<std::size_t> sequences_of(const std::vector<std::size_t>& units, std::size_t together) {
  std::vector<std::size_t> sequences;
  for (const std::size_t unit : units)
    for (std::size_t i = 0; i < together; ++i) sequences.push_back(unit * together + i);
  return sequences;
}

/// Whether any micro-batch exceeds a limit if each replica has `microbatches` of them.
bool is_beyond(const plan::MicroBatching& micro_batching, const control::MiniBatch& mini_batch, std::size_t replicas,
               std::size_t microbatches) {
  const auto is_over = [](double limit, std::size_t found) { return limit > 0 && static_cast<double>(found) > limit; };
  for (const auto& replica :
       distribute_to_replicas(mini_batch.sequences, mini_batch.kept_together, replicas, microbatches))
    for (const std::vector<std::size_t>& ids : replica) {
      std::size_t tokens = 0;
      for (const std::size_t id : ids) tokens += mini_batch.sequences[id].tokens.size();
      if (ids.size() > mini_batch.kept_together &&
          (is_over(micro_batching.tokens, tokens) || is_over(micro_batching.sequences, ids.size())))
        return true;
    }
  return false;
}

using control::TrainingSums;

using SumsAsNumbers = std::array<double, sizeof(TrainingSums) / sizeof(double)>;

}  // namespace

std::vector<std::vector<std::size_t>> micro_batches_of(std::span<const control::TokenSequence> sequences,
                                                       const control::PassSettings& settings) {
  std::vector<std::vector<std::size_t>> batches;
  for (const auto& part : assign(lengths_of(sequences, settings.kept_together), settings.micro_batching))
    if (!part.empty()) batches.push_back(sequences_of(part, settings.kept_together));
  return batches;
}

std::vector<std::vector<std::vector<std::size_t>>> distribute_to_replicas(
    std::span<const control::TokenSequence> sequences, std::size_t kept_together, std::size_t replicas,
    std::size_t microbatches) {
  const std::vector<std::int64_t> lengths = lengths_of(sequences, kept_together);
  std::vector<std::vector<std::vector<std::size_t>>> dealt;
  for (const std::vector<std::size_t>& units : batching::exactly(lengths, replicas)) {
    std::vector<std::int64_t> own;
    for (const std::size_t unit : units) own.push_back(lengths[unit]);
    auto& batches = dealt.emplace_back();
    for (std::vector<std::size_t> part : batching::exactly(own, microbatches)) {
      for (std::size_t& unit : part) unit = units[unit];
      batches.push_back(sequences_of(part, kept_together));
    }
  }
  return dealt;
}

std::size_t microbatches_within(const plan::MicroBatching& micro_batching,
                                std::span<const control::MiniBatch> mini_batches, std::size_t replicas,
                                std::size_t planned) {
  if (micro_batching.count > 0) return planned;
  std::size_t count = planned;
  for (const control::MiniBatch& mini_batch : mini_batches) {
    const std::size_t units = mini_batch.sequences.size() / mini_batch.kept_together;
    while (count < units && is_beyond(micro_batching, mini_batch, replicas, count)) ++count;
  }
  return count;
}

using base::Result;
using control::StepDecision;

RoleTraining::RoleTraining(const control::Training& training, std::size_t replicas, std::size_t microbatches)
    : training_(training),
      replicas_(replicas),
      microbatches_(microbatches),
      results_(training.mini_batches.size()),
      decisions_(training.mini_batches.size()) {
  for (const control::MiniBatch& mini_batch : training.mini_batches)
    for (const auto& replica :
         distribute_to_replicas(mini_batch.sequences, mini_batch.kept_together, replicas, microbatches))
      ids_.insert(ids_.end(), replica.begin(), replica.end());
  sums_.resize(ids_.size());
}

std::size_t RoleTraining::place(std::size_t replica, MicrobatchId id) const {
  const std::size_t minibatch = id.index() / microbatches_;
  DOVETAIL_ASSERT(replica < replicas_ && minibatch < results_.size());
  return (minibatch * replicas_ + replica) * microbatches_ + id.index() % microbatches_;
}

MicroBatch RoleTraining::micro_batch(std::size_t replica, MicrobatchId id) const {
  return {training_.mini_batches[id.index() / microbatches_].sequences, ids_[place(replica, id)]};
}

std::int64_t RoleTraining::rows(std::size_t replica, MicrobatchId id) const {
  const MicroBatch batch = micro_batch(replica, id);
  std::size_t rows = 0;
  for (const std::size_t sequence : batch.ids) rows += batch.all[sequence].tokens.size();
  return batch.ids.empty() ? 1 : static_cast<std::int64_t>(rows);
}

std::vector<control::ScoreSlopes> RoleTraining::slopes(std::size_t replica, MicrobatchId id,
                                                       std::span<const control::Scores> scores) {
  const std::size_t at = place(replica, id);
  return training_.mini_batches[id.index() / microbatches_].loss(ids_[at], scores, sums_[at]);
}

TrainingSums RoleTraining::sums(std::size_t replica, std::size_t minibatch) const {
  TrainingSums sums;
  const std::size_t begin = (minibatch * replicas_ + replica) * microbatches_;
  for (std::size_t i = 0; i < microbatches_; ++i) sums.add(sums_[begin + i]);
  return sums;
}

void RoleTraining::finish(std::size_t minibatch, const MiniBatchResult& result) { results_[minibatch] = result; }

Result<StepDecision> RoleTraining::decide(std::size_t minibatch) {
  DOVETAIL_ASSERT(results_[minibatch]);
  auto& decision = decisions_[minibatch];
  if (decision) return *decision;
  // No decision is made after training has ended.
  const auto* const before = minibatch == 0 ? nullptr : &decisions_[minibatch - 1];
  DOVETAIL_ASSERT(before == nullptr || *before);
  if (before != nullptr && (*before)->ok() && (**before)->ends)
    decision = StepDecision{.step = std::nullopt, .ends = true};
  else
    decision = training_.decide(minibatch, results_[minibatch]->norm, results_[minibatch]->sums);
  return *decision;
}

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

std::vector<double> RankRole::partial_sums(std::size_t minibatch) const {
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
