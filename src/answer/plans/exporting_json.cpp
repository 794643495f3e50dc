#include "answer/plans/exporting.h"
#include "answer/plans/plan_json.h"
#include "answer/question/json.h"

namespace dovetail::answer {

std::string to_json(const ExportAnswer& answer) {
  const bool whole = answer.base_file.empty();
  Json changes = Json::array();
  for (const ReasonedChange& change : answer.changes) {
    Json object{{"key", change.change.set.key}, {"value", change.change.set.value}};
    if (!whole) object["why"] = change.reason;
    if (change.change.removes) object["removed"] = true;
    for (const trainers::Setter& more : change.change.with)
      object["with"].push_back({{"key", more.key}, {"value", more.value}});
    changes.push_back(std::move(object));
  }
  Json object{{"format", "dovetail/export@1"}, {"trainer", answer.trainer}};
  if (!whole) object["base"] = answer.base_file;
  object["plan"] = answer.plan_name;
  object["seconds"] = answer.seconds;
  if (!whole) object["base_seconds"] = answer.base_seconds;
  for (const trainers::DemandedName& demanded : answer.demanded)
    object["demanded"].push_back({{"name", demanded.name}, {"what", demanded.what}});
  object["changes"] = std::move(changes);
  add_not_modelled(answer.not_modelled, object);
  return json_text(object);
}

}  // namespace dovetail::answer
