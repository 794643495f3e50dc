#include "cli/plan_words.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "answer/question/json.h"
#include "report/text/table.h"

namespace dovetail::cli {

std::string tasks_table(const plan::Job& job, const plan::Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const answer::TaskWords& words : answer::task_words(job, plan))
    rows.push_back({words.task, words.devices, words.layout, words.settings});
  return report::render_table(
      {{"task", report::Align::left}, {"devices", report::Align::left}, {"layout", report::Align::left}, {"settings", report::Align::left}},
      rows);
}

answer::Json tasks_json(const plan::Job& job, const plan::Plan& plan) {
  answer::Json tasks = answer::Json::array();
  for (const answer::TaskWords& words : answer::task_words(job, plan))
    tasks.push_back(answer::Json{{"task", words.task}, {"devices", words.devices}, {"layout", words.layout}, {"settings", words.settings}});
  return tasks;
}

std::string cut_short_text(const planner::Ranking& ranking) {
  if (!ranking.cut_short) return "";
  const std::string_view why = *ranking.cut_short == parallel::EndedBy::time ? "The time limit was over" : "Interrupted";
  return fmt::format("{} before all was looked at: this is the best so far, and with as many iterations more may be found.\n", why);
}

void add_stopped_by(const planner::Ranking& ranking, answer::Json& object) {
  if (ranking.cut_short) object["stopped_by"] = *ranking.cut_short == parallel::EndedBy::time ? "time" : "interrupt";
}

}  // namespace dovetail::cli
