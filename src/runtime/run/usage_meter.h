// What this process takes of its machine, from question to question.
#pragma once

#include <cstdint>

#include "control/models.h"
#include "runtime/model/device.h"

namespace dovetail::runtime {

/// From its making on. Memory is that of a device: on the processor it counts where count_memory() was called.
class UsageMeter {
 public:
  explicit UsageMeter(const at::Device& device = at::kCPU);

  /// What tensors have between the two counts as a training's.
  void begin_training();
  void end_training();
  control::RankUsage take();

 private:
  at::Device device_;
  double processor_seconds_;
  std::int64_t live_ = 0;
};

}  // namespace dovetail::runtime
