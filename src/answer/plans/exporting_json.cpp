#include "answer/plans/exporting.h"
#include "answer/plans/plan_json.h"
#include "answer/question/json.h"

namespace dovetail::answer {

std::string to_json(const ExportAnswer& answer) {
  Json changes = Json::array();
  for (const ReasonedChange& change : answer.changes) {
    Json object{{"key", change.change.set.key}, {"value", change.change.set.value}, {"why", change.reason}};
    if (change.change.removes) object["removed"] = true;
    for (const trainers::Setter& more : change.change.with)
      object["with"].push_back({{"key", more.key}, {"value", more.value}});
    changes.push_back(std::move(object));
  }
  Json object{{"format", "dovetail/export@1"}, {"trainer", answer.base.trainer}, {"base", answer.base.file},
              {"plan", answer.plan_name},      {"seconds", answer.seconds},      {"base_seconds", answer.base_seconds},
              {"changes", std::move(changes)}};
  add_not_modelled(answer.base.job, object);
  return json_text(object);
}

}  // namespace dovetail::answer
