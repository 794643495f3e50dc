// What a run holds, for the message where memory runs out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "workflow/workflow.h"

namespace dovetail::runtime {

struct MemoryAccount {
  std::int64_t iteration = 0;  ///< under way; 0: the models are being read
  std::string phase = {};      ///< its task, or "evaluate"
  std::int64_t weights = 0;    ///< bytes, as all below
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t cache = 0;                      ///< the most that keys and values of a generation may take
  std::optional<std::int64_t> predicted = {};  ///< of all, by the plan
};

/// What `work` returns. Where memory runs out in it, an Error that says in which phase, what is held by kind beside
/// what was predicted, and which setting of the plan to change.
base::Status within_memory(const MemoryAccount& account, const workflow::Workflow& workflow,
                           const std::function<base::Status()>& work);

}  // namespace dovetail::runtime
