// Plans as what has to change in the configuration that a trainer is given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "trainers/changed_base.h"
#include "trainers/export/change.h"
#include "trainers/import_run.h"

namespace dovetail::trainers {

/// A change without which the run is not the plan.
struct KeptChange {
  Change change;
  std::optional<plan::Plan> without;  ///< what the others alone come to; nothing where that is no run of the job
  std::string stops;                  ///< why it is none
};

struct Export {
  Import base;                      ///< as it is
  std::vector<KeptChange> changes;  ///< none: it is the plan already
  std::string content;              ///< of the base, with the changes where they are made in place
  bool in_place = false;            ///< they are; else words behind the base's own make them
};

/// The smallest set of settings with which `base`, imported, is the plan: leave out any one and it is another plan, or
/// the trainer stops. Settings that the base has already are not in it, and its job stays as it is. `plan` is of the
/// base's job, and with `switches` of the job that the base comes to with them (changed_base.h). An Error where the
/// base is no configuration of `trainer`, does not heed settings that are laid over it, or the trainer cannot be told
/// to run the plan: it names the tasks, what they would have and what they get.
base::Result<Export> export_run(const ExportBase& base, const plan::Plan& plan, std::string_view trainer,
                                const std::vector<Change>& switches = {});

/// The content of an export with a reason for each of its changes, a line above it, where its format has comments
/// there; else as it is.
base::Result<std::string> commented_content(const ExportBase& base, const Export& made,
                                            const std::vector<std::string>& reasons);

}  // namespace dovetail::trainers
