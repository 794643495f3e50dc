// Describes plans, their fusions, and changes of plans.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plan/iteration_graph.h"
#include "planner/advice/changes.h"
#include "predict/closed_form/estimate.h"
#include "study/fusion_variants.h"

namespace dovetail::answer {

/// Returns a line with the trainer's configuration that the job was imported from; empty for a job file.
std::string origin_line(const plan::Job& job);
/// Returns origin_line, followed by a line such as "ppo-7b: ppo on 8 devices, 256 samples per iteration" without a line
/// feed at its end.
std::string job_line(const plan::Job& job);

/// Returns "not modeled:" and a line for each setting that the predictions ignore; empty without settings.
std::string not_modelled_text(const std::vector<plan::NotModelled>& settings);

/// Returns the name of an activity: "actor_train"; "weights to actor_generate" for a reallocation; "actor_train, from
/// host" and "actor_train, to host" for host transfers that overlap other tasks.
std::string activity_text(const plan::Job& job, plan::Activity::Kind kind, std::size_t task);

/// One task of a plan, as text.
struct TaskText {
  std::string task;
  std::string devices;   ///< "0-7"
  std::string layout;    ///< "dp2 tp2 pp1 zero1"
  std::string settings;  ///< "micro-batches of 4096 tokens, optimizer offloaded"
};
/// Describes every task that runs on devices.
std::vector<TaskText> task_texts(const plan::Job& job, const plan::Plan& plan);

/// Describes a change: "critic_train on 0-3 while actor_train is on 4-7: ..." with both layouts and settings,
/// "actor_train: micro-batches of 4096 tokens in place of 8192".
std::string change_text(const plan::Job& job, const plan::Plan& from, const planner::Change& change);

/// Returns by how much a plan that does not fit exceeds memory: "short by 3.20 GiB", "short by 427.00 GiB of a node's
/// host memory".
std::string missing_text(const std::vector<predict::TaskMemory>& memory);

/// Returns "yes", "tight" or "NO", for a table cell.
std::string_view short_name(predict::Fit fit);

/// Returns advice to fuse less, or an empty string. If the plan fits only with less fusion, the advice is "It fits if
/// nothing is fused." or similar. If its iteration time, as printed, is shorter with less fusion, the advice is "The
/// iteration is shorter if only training is fused." or similar. `variants` come from study::simulate_fusion_variants.
std::string less_fusion_text(const std::vector<study::FusionVariant>& variants);

/// Returns a line per fusion of the estimate, with the seconds that its tasks take fused and separately; empty if
/// nothing is fused.
std::string fusion_text(const plan::Job& job, const predict::Estimate& estimate);

}  // namespace dovetail::answer
