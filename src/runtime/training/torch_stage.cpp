#include "runtime/training/torch_stage.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "base/assert.h"
#include "runtime/model/device.h"
#include "runtime/training/tensor_buffer.h"

namespace dovetail::runtime {

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

Buffer TorchStage::room(bool, MicrobatchId microbatch) {
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
  // The op ends when its work does: its time is what it took, and its output is there.
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
  const Tensor y = flight.pass->forward(std::move(x), keeping_of(state_.recomputation));
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
    // No other rank has anything of the role.
    role_.close(k);
    role_.finish(k, role_.findings(k));
  }
  DOVETAIL_TRY(const control::StepDecision decision, role_.training.decide(k));
  if (decision.step) runtime::step(state_.optimizer, state_.model.weights, *decision.step);
  if (k + 1 < role_.training.minibatches()) clear_gradients(state_.model.weights);
  wait_for_work_of(device_);
  return {};
}

}  // namespace dovetail::runtime
