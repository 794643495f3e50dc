// A task's part of a plan in files: of plans, where all is said that has no default, and of jobs, where what is said is
// fixed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/json_object.h"
#include "base/result.h"
#include "plan/pin.h"
#include "workflow/workflow.h"

namespace dovetail::plan {

/// The keys of a task of that kind: `devices`, `layout`, `engine` or `micro_batch`, `offload`.
std::vector<std::string_view> task_keys(workflow::TaskKind kind);

/// Reads what `node` says under those keys. Every mistake in a value is an Error at its line and column; what goes
/// together is not looked at.
base::Result<TaskPin> read_task_pin(const base::Node& node);

/// What is fixed, as members that read_task_pin reads back.
base::JsonObject task_pin_object(const TaskPin& pin);

}  // namespace dovetail::plan
