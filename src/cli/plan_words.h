// Plans of tasks, and what changes in them, in words.
#pragma once

#include <string>

#include "cli/output.h"
#include "place/advice/changes.h"

namespace dovetail::cli {

/// "dp2 tp2 pp1 zero1, micro-batches of 4096 tokens, optimizer offloaded": all of a task's part of a plan but its devices.
std::string layout_and_settings(const plan::TaskPlan& planned, workflow::TaskKind kind);

/// A table of the tasks with devices: where they run, how they are laid out, their settings.
std::string tasks_table(const plan::Job& job, const plan::Plan& plan);
/// The same as an array of objects.
Json tasks_json(const plan::Job& job, const plan::Plan& plan);

/// What to do: "critic_train on 0-3 while actor_train is on 4-7", "actor_train: micro-batches of 4096 tokens in place of 8192 tokens".
std::string change_words(const plan::Job& job, const plan::Plan& from, const place::Change& change);

}  // namespace dovetail::cli
