// Memory and processor time of a run on this rank.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "control/models.h"
#include "runtime/model/device.h"
#include "workflow/workflow.h"

namespace dovetail::runtime {

/// Current phase of a run and the memory in use, for errors when memory runs out or a rank is lost.
struct MemoryAccount {
  std::int64_t iteration = 0;  ///< current iteration; 0 while the models are read
  std::string phase = {};      ///< task, "evaluate", or the work between tasks
  std::int64_t weights = 0;    ///< bytes of weights; the members below are in bytes as well
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t cache = 0;                      ///< maximum bytes of a generation's KV cache
  std::optional<std::int64_t> predicted = {};  ///< predicted peak in bytes: max of TaskMemory::needed over the tasks
  std::function<void(const MemoryAccount&)> on_phase = {};  ///< called at the start of each phase
};

/// Enters a phase, unless it is the current one.
void begin_phase(MemoryAccount& account, std::int64_t iteration, std::string_view phase);

/// Returns, for example, "actor_train of iteration 3", or "startup".
std::string phase_text(const MemoryAccount& account);

/// Returns the result of `work`. If memory runs out, returns an Error that states the phase, the memory in use, the
/// predicted memory if it is known, and what to change.
base::Status within_memory(const MemoryAccount& account, const workflow::Workflow& workflow,
                           const std::function<base::Status()>& work);

/// Processor time and memory of a run's tasks in this process. Processor time excludes rewards, file output and
/// reports, which only one rank handles. Memory is measured on the device. On the CPU, it is counted only after
/// count_memory().
class UsageMeter {
 public:
  explicit UsageMeter(const at::Device& device = at::kCPU) : device_(device) {}

  /// Adds the processor time of all threads during this object's lifetime to the meter, which must outlive it. Tasks
  /// must not overlap.
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

  /// Like Task. Also records the peak memory of tensors during training.
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

  /// Returns the usage since the last call.
  control::RankUsage take() { return std::exchange(counted_, {}); }

 private:
  at::Device device_;
  control::RankUsage counted_;
};

}  // namespace dovetail::runtime
