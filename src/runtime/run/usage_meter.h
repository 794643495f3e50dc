// What the tasks of a run take of this process, from question to question.
#pragma once

#include <utility>

#include "control/models.h"
#include "runtime/model/device.h"

namespace dovetail::runtime {

/// Processor time is that of tasks alone: what judges, writes and reports, which only one rank does, is not in it.
/// Memory is that of a device: on the processor it counts where count_memory() was called.
class UsageMeter {
 public:
  explicit UsageMeter(const at::Device& device = at::kCPU) : device_(device) {}

  /// Counts what the process takes from its making to its end, on all threads. The meter must outlive it; tasks do not
  /// overlap.
  class Task {
   public:
    explicit Task(UsageMeter& meter);
    ~Task();
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

   private:
    UsageMeter& meter_;
    double begin_;
  };

  /// Likewise, and what tensors have meanwhile counts as a training's.
  class Training {
   public:
    explicit Training(UsageMeter& meter);
    ~Training();
    Training(const Training&) = delete;
    Training& operator=(const Training&) = delete;

   private:
    UsageMeter& meter_;
    Task task_;
  };

  /// What was counted since the last call.
  control::RankUsage take() { return std::exchange(counted_, {}); }

 private:
  at::Device device_;
  control::RankUsage counted_;
};

}  // namespace dovetail::runtime
