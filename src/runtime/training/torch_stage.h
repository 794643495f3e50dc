// A stage of a transformer as rank programs run it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "execute/stage.h"
#include "runtime/model/micro_batch_pass.h"
#include "runtime/training/rank_role.h"
#include "runtime/training/stage_state.h"

namespace dovetail::runtime {

/// Runs one training phase of a stage. A micro-batch's part of the gradients is added behind those of all before it,
/// whatever the order of the ops: gradients are the same to the bit for every schedule.
class TorchStage final : public execute::Stage {
 public:
  /// `carries_device_memory`: messages are in the memory of the stage's device; else in the host's. `state` and `role`
  /// must stay.
  TorchStage(StageState& state, RankRole& role, bool carries_device_memory);

  execute::Buffer room(bool forward, MicrobatchId microbatch) override;
  base::Result<execute::Buffer> run(pipeline::OpKind op, MicrobatchId microbatch, execute::Buffer input) override;
  void free(MicrobatchId microbatch) override;
  base::Status step(int minibatch) override;

 private:
  /// What is held of a micro-batch between its F and its B, or I.
  struct Flight {
    std::optional<MicroBatchPass> pass;  ///< none of an empty micro-batch
    std::vector<control::ScoreSlopes> slopes;
  };
  /// A micro-batch's part of the gradients.
  struct Addition {
    GradientSink sink;
    bool is_whole = false;  ///< nothing comes to it any more
  };

  Tensor compute(pipeline::OpKind op, MicrobatchId microbatch, Tensor input);
  Tensor forward(MicrobatchId microbatch, Tensor x);
  Tensor backward(MicrobatchId microbatch, Tensor dy, bool is_split);
  void end_backward(MicrobatchId microbatch);

  StageState& state_;
  RankRole& role_;
  at::Device device_;
  at::Device carried_;  // whose memory messages are in
  std::map<MicrobatchId, Flight> flights_;
  std::map<MicrobatchId, Addition> additions_;
  MicrobatchId next_{0};  // the first micro-batch whose part is not added
};

}  // namespace dovetail::runtime
