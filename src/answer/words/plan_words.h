// Plans of tasks, and what changes in them, in words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plan/iteration_graph.h"
#include "planner/advice/changes.h"
#include "study/fusion_variants.h"

namespace dovetail::answer {

/// The line that says what the job was read as; empty where that was a job file.
std::string origin_line(const plan::Job& job);
/// "ppo-7b: ppo on 8 devices, 256 samples an iteration", behind that line.
std::string job_line(const plan::Job& job);

/// "not modelled:" and a line for each setting that no figure counts; empty where there is none.
std::string not_modelled_text(const std::vector<plan::NotModelled>& settings);

/// "actor_train"; "weights to actor_generate" of a reallocation; "actor_train, from host" and "actor_train, to host" of
/// what a task has in host memory, where it moves beside other tasks.
std::string activity_words(const plan::Job& job, plan::Activity::Kind kind, std::size_t task);

/// A task's part of a plan.
struct TaskWords {
  std::string task;
  std::string devices;   ///< "0-7"
  std::string layout;    ///< "dp2 tp2 pp1 zero1"
  std::string settings;  ///< "micro-batches of 4096 tokens, optimizer offloaded"
};
/// Of all tasks with devices.
std::vector<TaskWords> task_words(const plan::Job& job, const plan::Plan& plan);

/// What to do: "critic_train on 0-3 while actor_train is on 4-7", "actor_train: micro-batches of 4096 tokens in place
/// of 8192 tokens".
std::string change_words(const plan::Job& job, const plan::Plan& from, const planner::Change& change);

/// "3.20 GiB are missing", "427.00 GiB of a node's host memory are missing": of what does not fit.
std::string missing_words(const std::vector<predict::TaskMemory>& memory);

/// "yes", "tight", "NO": whether it fits, in a cell of a table.
std::string_view short_name(predict::Fit fit);

/// "It fits where nothing is fused.", of a plan that does not fit but with less fusion; "The iteration is shorter where
/// ...", of one that is slower than with less fusion as far as its seconds show; else empty. `variants`:
/// study::play_fusion_variants.
std::string less_fusion_words(const std::vector<study::FusionVariant>& variants);

}  // namespace dovetail::answer
