// `fusion` of a plan file, and of what a job fixes.
#pragma once

#include <vector>

#include "base/document.h"
#include "base/json_object.h"
#include "base/result.h"
#include "plan/fusion.h"

namespace dovetail::plan {

/// Reads {"inter_stage": {"threshold": 0.2}, "intra_stage": {"tasks": ["actor_train", "critic_train"]}}, either or
/// both, of a plan with these parts ([task of the workflow]). Every mistake, also what find_threshold_fault and
/// find_training_fault find, is an Error at its line and column.
base::Result<Fusion> read_fusion(const base::Node& node, const Job& job, const std::vector<TaskPlan>& tasks);

/// Members that read_fusion reads back; none where nothing is fused.
base::JsonObject fusion_object(const Fusion& fusion, const Job& job);

/// Reads what a job fixes of it: {"inter_stage": true, "intra_stage": false}, either or both, with {"threshold": 0.2}
/// in place of true where it has to be that. Every mistake, also what find_fault finds, is an Error at its line and
/// column.
base::Result<FusionPin> read_fusion_pin(const base::Node& node, const Job& job);

/// Members that read_fusion_pin reads back; none where nothing is fixed.
base::JsonObject fusion_pin_object(const FusionPin& pin);

}  // namespace dovetail::plan
