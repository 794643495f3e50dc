// Plans of tasks as tables and JSON.
#pragma once

#include <string>

#include "answer/question/json.h"
#include "answer/words/plan_words.h"
#include "cli/output.h"
#include "planner/rank/rank.h"

namespace dovetail::cli {

using answer::change_words;

/// A table of the tasks with devices: where they run, how they are laid out, their settings.
std::string tasks_table(const plan::Job& job, const plan::Plan& plan);
/// The same as an array of objects.
answer::Json tasks_json(const plan::Job& job, const plan::Plan& plan);

/// A line where the ranking was cut short, else nothing.
std::string cut_short_text(const planner::Ranking& ranking);
/// Adds `stopped_by` there.
void add_stopped_by(const planner::Ranking& ranking, answer::Json& object);

}  // namespace dovetail::cli
