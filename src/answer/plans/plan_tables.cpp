#include "answer/plans/plan_tables.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "answer/words/plan_words.h"

namespace dovetail::answer {

Table tasks_table(const plan::Job& job, const plan::Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const TaskWords& words : task_words(job, plan)) rows.push_back({words.task, words.devices, words.layout, words.settings});
  return {{{"task", Align::left}, {"devices", Align::left}, {"layout", Align::left}, {"settings", Align::left}}, rows};
}

std::string cut_short_text(const planner::Ranking& ranking) {
  if (!ranking.cut_short) return "";
  const std::string_view why = *ranking.cut_short == parallel::EndedBy::time ? "The time limit was over" : "Interrupted";
  return fmt::format("{} before all was looked at: this is the best so far, and with as many iterations more may be found.\n", why);
}

}  // namespace dovetail::answer
