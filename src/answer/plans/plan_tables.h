// Tables about plans and rankings.
#pragma once

#include <string>

#include "answer/question/section.h"
#include "planner/rank/rank.h"

namespace dovetail::answer {

/// Devices, layout and settings of each task.
Table tasks_table(const plan::Job& job, const plan::Plan& plan);

/// Memory of a device in a task, by part.
Table parts_table(const workflow::Workflow& workflow, const predict::TaskMemory& memory);

/// One line if the ranking was cut short, otherwise empty.
std::string cut_short_text(const planner::Ranking& ranking);

}  // namespace dovetail::answer
