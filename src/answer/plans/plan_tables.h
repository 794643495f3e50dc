// What answers say of plans and rankings: tables.
#pragma once

#include <string>

#include "answer/question/section.h"
#include "planner/rank/rank.h"

namespace dovetail::answer {

/// The tasks with devices: where they run, how they are laid out, their settings.
Table tasks_table(const plan::Job& job, const plan::Plan& plan);

/// What a device holds in a task.
Table parts_table(const workflow::Workflow& workflow, const predict::TaskMemory& memory);

/// A line where the ranking was cut short, else nothing.
std::string cut_short_text(const planner::Ranking& ranking);

}  // namespace dovetail::answer
