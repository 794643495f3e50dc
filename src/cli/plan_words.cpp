#include "cli/plan_words.h"

#include <vector>

#include "report/words/table.h"

namespace dovetail::cli {

std::string tasks_table(const plan::Job& job, const plan::Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const report::TaskWords& words : report::task_words(job, plan))
    rows.push_back({words.task, words.devices, words.layout, words.settings});
  return report::render_table(
      {{"task", report::Align::left}, {"devices", report::Align::left}, {"layout", report::Align::left}, {"settings", report::Align::left}},
      rows);
}

Json tasks_json(const plan::Job& job, const plan::Plan& plan) {
  Json tasks = Json::array();
  for (const report::TaskWords& words : report::task_words(job, plan))
    tasks.push_back(Json{{"task", words.task}, {"devices", words.devices}, {"layout", words.layout}, {"settings", words.settings}});
  return tasks;
}

}  // namespace dovetail::cli
