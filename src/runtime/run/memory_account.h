// Where a run is and what it holds, for the message where memory runs out or a rank is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "workflow/workflow.h"

namespace dovetail::runtime {

struct MemoryAccount {
  std::int64_t iteration = 0;  ///< under way; 0: the models are being read
  std::string phase = {};      ///< its task, "evaluate", or what is done between tasks
  std::int64_t weights = 0;    ///< bytes, as all below
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t cache = 0;                                   ///< the most that keys and values of a generation may take
  std::optional<std::int64_t> predicted = {};               ///< of all, by the plan
  std::function<void(const MemoryAccount&)> on_phase = {};  ///< hears of each that begins
};

/// A phase begins, where it is another one than before.
void begin_phase(MemoryAccount& account, std::int64_t iteration, std::string_view phase);

/// "actor_train of iteration 3", or "the start".
std::string phase_text(const MemoryAccount& account);

/// What `work` returns. Where memory runs out in it, an Error that says in which phase, what is held by kind beside
/// what was predicted, and which setting of the plan to change.
base::Status within_memory(const MemoryAccount& account, const workflow::Workflow& workflow,
                           const std::function<base::Status()>& work);

}  // namespace dovetail::runtime
