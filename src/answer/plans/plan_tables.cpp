#include "answer/plans/plan_tables.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/plan_words.h"

namespace dovetail::answer {

Table tasks_table(const plan::Job& job, const plan::Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const TaskWords& words : task_words(job, plan))
    rows.push_back({words.task, words.devices, words.layout, words.settings});
  return {{{"task", Align::left}, {"devices", Align::left}, {"layout", Align::left}, {"settings", Align::left}}, rows};
}

Table parts_table(const workflow::Workflow& workflow, const predict::TaskMemory& memory) {
  std::vector<std::vector<std::string>> rows;
  for (const predict::MemoryPart& part : memory.parts)
    rows.push_back({name_of(part, workflow), gibibytes(part.bytes),
                    percent(static_cast<double>(part.bytes) / static_cast<double>(memory.usable))});
  return {{{"part", Align::left}, {"memory"}, {"share of device"}}, rows};
}

std::string cut_short_text(const planner::Ranking& ranking) {
  if (!ranking.cut_short) return "";
  const std::string_view why = *ranking.cut_short == parallel::EndedBy::time ? "Time limit reached" : "Interrupted";
  return fmt::format(
      "{} before the search finished. This is the best result so far; a longer search may find a better one.\n", why);
}

}  // namespace dovetail::answer
