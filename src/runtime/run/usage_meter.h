// What this process takes of its machine, from question to question.
#pragma once

#include <cstdint>

#include "control/models.h"

namespace dovetail::runtime {

/// From its making on. Memory is process_memory(), which counts where count_memory() was called.
class UsageMeter {
 public:
  UsageMeter();

  /// What tensors have between the two counts as a training's.
  void begin_training();
  void end_training();
  control::RankUsage take();

 private:
  double processor_seconds_;
  std::int64_t live_ = 0;
};

}  // namespace dovetail::runtime
