#include "answer/plans/alternatives.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "answer/plans/job_input.h"
#include "base/document.h"
#include "trainers/import/models.h"
#include "trainers/import_run.h"

namespace dovetail::answer {

base::Result<trainers::ExportBase> read_base(const JobInput& base, const Callbacks& callbacks) {
  DOVETAIL_TRY(std::string content, read_input({trainers::file_of(base.path), base.text}));
  DOVETAIL_TRY(trainers::ImportOptions options, import_options(base, content, callbacks));
  std::string hub_cache = trainers::hub_cache_folder(options.environment);
  return trainers::ExportBase{base.path, std::move(content), std::move(options), std::move(hub_cache)};
}

base::Result<trainers::Allowed> allowed_of(const std::vector<std::string>& entries) {
  trainers::Allowed allowed;
  for (const std::string& listed : entries)
    for (std::size_t begin = 0; begin <= listed.size();) {
      const std::size_t end = std::min(listed.find(',', begin), listed.size());
      const std::string word = listed.substr(begin, end - begin);
      if (word == "backend")
        allowed.backend = true;
      else if (word == "mode")
        allowed.mode = true;
      else
        return base::bad_input(fmt::format("--allow {}: must be backend, mode or backend,mode", base::quote(word)));
      begin = end + 1;
    }
  return allowed;
}

base::Result<std::vector<Alternative>> list_alternatives(const JobInput& input, const trainers::Allowed& allowed,
                                                         const Callbacks& callbacks) {
  DOVETAIL_TRY(const trainers::ExportBase base, read_base(input, callbacks));
  if (!trainers::is_foreign(base.path, base.content))
    return base::bad_input(
        fmt::format("--allow needs a launch script or configuration of a trainer; {} is a job file", name_of(input)));
  DOVETAIL_TRY(std::vector<trainers::SwitchedBase> switched, trainers::switched_bases(base, allowed));
  if (switched.empty())
    return base::bad_input(fmt::format("--allow: the trainer of {} supports no other {} for this job; omit --allow",
                                       name_of(input),
                                       !allowed.mode      ? "backend"
                                       : !allowed.backend ? "mode"
                                                          : "backend or mode"));
  std::vector<Alternative> all{{.name = "as configured", .changes = {}, .input = input, .rejection = {}}};
  // Standard input cannot be read again.
  all.front().input.text = base.content;
  for (trainers::SwitchedBase& each : switched) {
    JobInput changed = input;
    changed.text = std::move(each.base.content);
    // The lengths of a log are already in the options.
    changed.import = std::move(each.base.options);
    changed.lengths.reset();
    changed.logged.reset();
    all.push_back({std::move(each.name), std::move(each.changes), std::move(changed), std::move(each.rejection)});
  }
  return all;
}

}  // namespace dovetail::answer
