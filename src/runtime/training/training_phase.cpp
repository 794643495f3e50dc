#include "runtime/training/training_phase.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "execute/interpreter.h"
#include "runtime/model/device.h"
#include "runtime/model/micro_batch_pass.h"
#include "runtime/model/tensor.h"
#include "runtime/training/optimizer.h"
#include "runtime/training/role_training.h"
#include "transport/collectives.h"
#include "transport/transport.h"

namespace dovetail::runtime {
namespace {

/// Returns the tensor's memory and keeps the tensor alive. Copies a tensor that is not contiguous.
transport::Buffer to_buffer(const Tensor& tensor) {
  auto owner = std::make_shared<Tensor>(tensor.contiguous());
  auto* const data = static_cast<std::byte*>(owner->data_ptr());
  const auto bytes = static_cast<std::size_t>(owner->nbytes());
  return {data, bytes, std::move(owner)};
}

/// Returns the tensor of a buffer, or an undefined tensor if the buffer has no data. REQUIRES: to_buffer made the
/// buffer.
Tensor to_tensor(const transport::Buffer& buffer) {
  return buffer.owner == nullptr ? Tensor() : *static_cast<const Tensor*>(buffer.owner.get());
}

/// Reductions of a training phase on tensors.
class TorchReducer final : public execute::Reducer {
 public:
  /// `roles` has one entry per model of the program, null if this rank has no stage of it. `stages` has one entry per
  /// stage of the program on this rank. All must outlive this object.
  TorchReducer(std::vector<RankRole*> roles, std::vector<StageState*> stages)
      : roles_(std::move(roles)), stages_(std::move(stages)) {}

  base::Status reduce(const pipeline::Reduction& reduction, std::uint32_t number, transport::Collectives& collectives,
                      transport::Deadline deadline) override;

 private:
  std::vector<RankRole*> roles_;
  std::vector<StageState*> stages_;
};

using base::Status;
using pipeline::Reduction;
using pipeline::ReductionKind;

/// One reduction on this rank.
struct Exchange {
  transport::Collectives& collectives;
  transport::Deadline deadline;
  std::span<const int> ranks;
  std::uint32_t number;  ///< of its first collective; a second one has the next number

  transport::CollectiveGroup group(std::uint32_t collective = 0) const {
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
    std::vector<double> findings = role.partial_sums(minibatch);
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

/// Runs one training phase of a stage. A micro-batch's gradients are added after those of all earlier micro-batches,
/// regardless of the order of the ops. So gradients are bit-equal for every schedule.
class TorchStage final : public execute::Stage {
 public:
  /// `carries_device_memory` specifies whether messages are in the memory of the stage's device or of the host. `state`
  /// and `role` must outlive this object.
  TorchStage(StageState& state, RankRole& role, bool carries_device_memory);

  execute::Buffer receive_buffer(bool forward, MicrobatchId microbatch) override;
  base::Result<execute::Buffer> run(pipeline::OpKind op, MicrobatchId microbatch, execute::Buffer input) override;
  void free(MicrobatchId microbatch) override;
  base::Status step(int minibatch) override;

 private:
  /// State of a micro-batch from its F to its B, or I.
  struct Flight {
    std::optional<MicroBatchPass> pass;  ///< none for an empty micro-batch
    std::vector<control::ScoreSlopes> slopes;
  };
  /// Gradients of one micro-batch.
  struct Addition {
    GradientSink sink;
    bool is_whole = false;  ///< all its gradients are in `sink`
  };

  Tensor compute(pipeline::OpKind op, MicrobatchId microbatch, Tensor input);
  Tensor forward(MicrobatchId microbatch, Tensor x);
  Tensor backward(MicrobatchId microbatch, Tensor dy, bool is_split);
  void end_backward(MicrobatchId microbatch);

  StageState& state_;
  RankRole& role_;
  at::Device device_;
  at::Device carried_;  // device whose memory holds messages
  std::map<MicrobatchId, Flight> flights_;
  std::map<MicrobatchId, Addition> additions_;
  MicrobatchId next_{0};  // first micro-batch whose gradients are not yet added
};

using base::Result;
using execute::Buffer;
using pipeline::OpKind;

TorchStage::TorchStage(StageState& state, RankRole& role, bool carries_device_memory)
    : state_(state),
      role_(role),
      device_(state.model.weights.values.device()),
      carried_(carries_device_memory ? device_ : at::Device(at::kCPU)) {
  clear_gradients(state_.model.weights);
}

Buffer TorchStage::receive_buffer(bool, MicrobatchId microbatch) {
  const Weights& weights = state_.model.weights;
  return to_buffer(at::empty({role_.training.rows(state_.replica, microbatch), weights.shape.hidden},
                             weights.values.options().device(carried_)));
}

Result<Buffer> TorchStage::run(OpKind op, MicrobatchId microbatch, Buffer input) {
  Tensor given = to_tensor(input);
  input = {};
  if (given.defined()) given = given.to(device_);
  Tensor output = compute(op, microbatch, std::move(given));
  if (output.defined()) output = output.to(carried_);
  // Wait, so that the op's end time covers its work and its output is complete.
  wait_for_work_of(device_);
  return output.defined() ? to_buffer(output) : Buffer{};
}

Tensor TorchStage::compute(OpKind op, MicrobatchId microbatch, Tensor input) {
  Tensor output;
  switch (op) {
    case OpKind::F:
      output = forward(microbatch, std::move(input));
      break;
    case OpKind::B:
      output = backward(microbatch, std::move(input), false);
      end_backward(microbatch);
      break;
    case OpKind::I:
      output = backward(microbatch, std::move(input), true);
      break;
    case OpKind::W:
      end_backward(microbatch);
      break;
    case OpKind::S:
      DOVETAIL_ASSERT(false);
  }
  return output;
}

Tensor TorchStage::forward(MicrobatchId microbatch, Tensor x) {
  Flight& flight = flights_[microbatch];
  const Weights& weights = state_.model.weights;
  const MicroBatch batch = role_.training.micro_batch(state_.replica, microbatch);
  if (batch.ids.empty()) return at::zeros({1, weights.shape.hidden}, weights.values.options());
  flight.pass.emplace(state_.model, batch, role_.training.temperature());
  const Tensor y = flight.pass->forward(std::move(x), kept_activations_of(state_.recomputation));
  if (weights.has_head()) flight.slopes = role_.training.slopes(state_.replica, microbatch, flight.pass->score(y));
  return y;
}

Tensor TorchStage::backward(MicrobatchId microbatch, Tensor dy, bool is_split) {
  Flight& flight = flights_.at(microbatch);
  const bool is_next = microbatch == next_;
  Addition& addition = additions_.try_emplace(microbatch, Addition{GradientSink(is_split || !is_next)}).first->second;
  const Weights& weights = state_.model.weights;
  if (!flight.pass) return at::zeros({1, weights.shape.hidden}, weights.values.options());
  if (weights.has_head()) dy = flight.pass->score_backward(flight.slopes, addition.sink);
  return flight.pass->backward(std::move(dy), addition.sink);
}

void TorchStage::end_backward(MicrobatchId microbatch) {
  additions_.at(microbatch).is_whole = true;
  for (auto next = additions_.begin(); next != additions_.end() && next->first == next_ && next->second.is_whole;) {
    next->second.sink.add_held();
    next = additions_.erase(next);
    next_ = MicrobatchId(next_.value + 1);
  }
}

void TorchStage::free(MicrobatchId microbatch) { flights_.erase(microbatch); }

base::Status TorchStage::step(int minibatch) {
  DOVETAIL_ASSERT(additions_.empty());
  const auto k = static_cast<std::size_t>(minibatch);
  if (!role_.training.is_finished(k)) {
    // No other rank has a stage of the role.
    role_.close(k);
    role_.finish(k, role_.partial_sums(k));
  }
  DOVETAIL_TRY(const control::StepDecision decision, role_.training.decide(k));
  if (decision.step) runtime::step(state_.optimizer, state_.model.weights, *decision.step);
  if (k + 1 < role_.training.minibatches()) clear_gradients(state_.model.weights);
  wait_for_work_of(device_);
  return {};
}

using pipeline::Program;

/// Objects that run a program on this rank.
class PhaseWorkers {
 public:
  PhaseWorkers(const Program& program, std::span<const PhaseRole> roles, bool carries_device_memory) {
    DOVETAIL_ASSERT(roles.size() == program.models.size());
    for (std::size_t m = 0; m < roles.size(); ++m) add_role(program.models[m], roles[m]);
    std::vector<StageState*> states;
    for (const pipeline::ProgramStage& stage : program.stages) {
      states.push_back(&state_of(stage, *roles[stage.model.index()].states));
      stages_.push_back(
          std::make_unique<TorchStage>(*states.back(), *roles_[stage.model.index()], carries_device_memory));
    }
    std::vector<RankRole*> pointers;
    for (const auto& role : roles_) pointers.push_back(role.get());
    reducer_ = std::make_unique<TorchReducer>(std::move(pointers), std::move(states));
  }

  execute::Workers workers() const {
    execute::Workers all{{}, reducer_.get()};
    for (const auto& stage : stages_) all.stages.push_back(stage.get());
    return all;
  }

  std::vector<std::vector<MiniBatchResult>> results() const {
    std::vector<std::vector<MiniBatchResult>> all;
    for (const auto& role : roles_) {
      std::vector<MiniBatchResult>& own = all.emplace_back();
      for (std::size_t k = 0; role != nullptr && k < role->training.minibatches(); ++k)
        own.push_back(role->training.result(k));
    }
    return all;
  }

 private:
  void add_role(const pipeline::ProgramModel& model, const PhaseRole& role) {
    DOVETAIL_ASSERT(role.training->mini_batches.size() == static_cast<std::size_t>(model.minibatches));
    roles_.emplace_back();
    if (role.states->empty()) return;
    std::vector<StageState*> states;
    for (StageState& state : *role.states) states.push_back(&state);
    roles_.back() = std::make_unique<RankRole>(*role.training, static_cast<std::size_t>(model.replicas),
                                               static_cast<std::size_t>(model.microbatches), std::move(states));
  }

  static StageState& state_of(const pipeline::ProgramStage& stage, std::vector<StageState>& states) {
    const auto found = std::find_if(states.begin(), states.end(), [&](const StageState& state) {
      return state.replica == stage.replica.index() && state.stage == stage.stage.index();
    });
    DOVETAIL_ASSERT(found != states.end());
    return *found;
  }

  std::vector<std::unique_ptr<RankRole>> roles_;  // [model]; null if this rank has no stage of it
  std::vector<std::unique_ptr<TorchStage>> stages_;
  std::unique_ptr<TorchReducer> reducer_;
};

}  // namespace

base::Result<PhaseResult> run_training_phase(const Program& program, std::span<const PhaseRole> roles,
                                             transport::Transport& transport, const execute::RunOptions& options) {
  const PhaseWorkers workers(program, roles, transport.carries_device_memory());
  DOVETAIL_TRY(execute::Trace trace, execute::run(program, workers.workers(), transport, options));
  return PhaseResult{std::move(trace), workers.results()};
}

}  // namespace dovetail::runtime
