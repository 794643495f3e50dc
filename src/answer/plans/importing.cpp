#include "answer/plans/importing.h"

#include <fmt/format.h>

#include <utility>

#include "answer/plans/job_input.h"
#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/text/plan_text.h"
#include "plan/job_text.h"
#include "plan/plan_file.h"
#include "syntax/files.h"

namespace dovetail::answer {
namespace {

std::string findings_text(const trainers::Import& import, std::string_view kind,
                          const std::vector<trainers::Finding>& findings) {
  if (findings.empty()) return {};
  std::string text = fmt::format("\n{}:\n", kind);
  for (const trainers::Finding& finding : findings)
    text += fmt::format("  {}\n", trainers::finding_text(import, finding));
  return text;
}

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

base::Result<ImportAnswer> answer_to(const ImportRequest& request, const Callbacks& callbacks) {
  DOVETAIL_TRY(trainers::Import import, read_import(request.job, callbacks));
  import.job.origin = trainers::reading_text(import);
  DOVETAIL_CHECK(notify_read(callbacks));
  return ImportAnswer{std::move(import)};
}

base::Result<std::string> job_file(const ImportAnswer& answer, const std::string& target) {
  if (target == "-") return answer.import.text;
  return plan::job_seen_from(answer.import.text, answer.import.file, syntax::folder_of(target));
}

std::string plan_file(const ImportAnswer& answer) { return plan::plan_to_json(answer.import.plan, answer.import.job); }

Sections sections(const ImportAnswer& answer) {
  const trainers::Import& import = answer.import;
  Sections all = job_line(import.job) + "\n" + fmt::format("files read: {}\n\n", fmt::join(import.files, ", "));
  all += tasks_table(import.job, import.plan);
  all += findings_text(import, "assumed", import.run.assumed) + findings_text(import, "ignored", import.run.ignored) +
         findings_text(import, "not modeled", import.run.not_modelled);
  return all;
}

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
