// Reads and writes the members that occur both in plan files and under `fixed` in job files: the settings of a task,
// and the fusion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "base/utf8.h"
#include "plan/fusion.h"
#include "plan/pin.h"
#include "workflow/workflow.h"

namespace dovetail::plan {

/// Returns the keys of a task of this kind: `devices`, `layout`, `offload`, and `engine` for a generate task or
/// `micro_batch` for others.
std::vector<std::string_view> task_keys(workflow::TaskKind kind);

/// Reads those task_keys() that `node` has, and ignores other keys. The caller checks that no required key is missing.
/// Every invalid value is an Error at its line and column. Combinations of values are not checked, except that
/// max_num_batched_tokens must be at least max_num_seqs if both are given for an engine with its own weights.
base::Result<TaskPin> read_task_pin(const base::Node& node);

/// Returns the fixed settings as members that read_task_pin reads back.
base::JsonObject task_pin_object(const TaskPin& pin);

/// Reads the fusion of a plan: {"inter_stage": {"threshold": 0.2}, "intra_stage": {"tasks": ["actor_train",
/// "critic_train"]}}, with either or both members. `tasks` are the plan's tasks, [task of the workflow]. Every mistake
/// is an Error at its line and column, including faults that find_threshold_fault and find_training_fault find.
base::Result<Fusion> read_fusion(const base::Node& node, const Job& job, const std::vector<TaskPlan>& tasks);

/// Returns the fusion as members that read_fusion reads back. Empty if nothing is fused.
base::JsonObject fusion_object(const Fusion& fusion, const Job& job);

/// Reads the fixed fusion of a job: {"inter_stage": true, "intra_stage": false}, with either or both members. If
/// "inter_stage" is {"threshold": 0.2} instead of true, that threshold is also required. Every mistake is an Error at
/// its line and column, including faults that find_fault finds.
base::Result<FusionPin> read_fusion_pin(const base::Node& node, const Job& job);

/// Returns the pin as members that read_fusion_pin reads back. Empty if nothing is fixed.
base::JsonObject fusion_pin_object(const FusionPin& pin);

}  // namespace dovetail::plan
