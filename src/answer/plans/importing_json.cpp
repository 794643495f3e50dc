#include "answer/plans/importing.h"
#include "answer/plans/plan_json.h"
#include "answer/question/json.h"

namespace dovetail::answer {
namespace {

Json findings_json(const trainers::Import& import, const std::vector<trainers::Finding>& findings) {
  Json list = Json::array();
  for (const trainers::Finding& finding : findings) {
    Json object = Json::object();
    if (!finding.key.empty()) object["key"] = finding.key;
    object["what"] = finding.what;
    const auto source = static_cast<std::size_t>(finding.place.source);
    if (finding.place.line > 0 && source < import.files.size()) {
      object["file"] = import.files[source];
      object["line"] = finding.place.line;
    }
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace

std::string to_json(const ImportAnswer& answer) {
  const trainers::Import& import = answer.import;
  Json object{{"format", "dovetail/import@1"},
              {"trainer", import.trainer},
              {"why", import.why},
              {"files", import.files},
              {"assumed", findings_json(import, import.run.assumed)},
              {"ignored", findings_json(import, import.run.ignored)},
              {"not_modelled", findings_json(import, import.run.not_modelled)},
              {"job", import.text}};
  add_plan(import.job, import.plan, object);
  return json_text(object);
}

}  // namespace dovetail::answer
