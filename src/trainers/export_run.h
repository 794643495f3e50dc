// Exports a plan to a trainer, as changes to a given configuration or as a new file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "trainers/changed_base.h"
#include "trainers/export/change.h"
#include "trainers/export/complete_file.h"
#include "trainers/import_run.h"

namespace dovetail::trainers {

/// A change without which the base would not run the plan.
struct RequiredChange {
  Change change;
  std::optional<plan::Plan> without;  ///< plan that would run without this change; nullopt if the job could not run
  std::string stops;                  ///< why the job could not run without this change; empty: it could
};

struct Export {
  Import base;                          ///< unchanged base
  std::vector<RequiredChange> changes;  ///< empty if the base already runs the plan
  std::string content;                  ///< content of the base, including changes made in place
  bool in_place = false;  ///< whether changes are made in place; otherwise they are arguments to add to the command
};

/// Returns changes that make `base` run the plan, without changing its job. Each of them is needed: without it, the
/// trainer would stop, or run a different plan or job. `plan` is a plan for the job of the base with `switches` applied
/// (changed_base.h). Returns an Error if the base is not a configuration of `trainer`, if the base ignores added
/// settings, or if the trainer cannot run the plan or would change the job. If the changed base would run another plan,
/// the Error shows the requested and the resulting settings of each task that differs.
base::Result<Export> export_run(const ExportBase& base, const plan::Plan& plan, std::string_view trainer,
                                const std::vector<Change>& switches = {});

/// Returns the content of an export. In YAML, `reasons[i]`, if present, becomes a comment above change i.
base::Result<std::string> commented_content(const ExportBase& base, const Export& made,
                                            const std::vector<std::string>& reasons);

/// An export to a new file.
struct CompleteExport {
  std::string trainer;
  bool is_script = true;  ///< launch script; otherwise a configuration
  std::vector<RequiredName> required;
  std::vector<Change> changes;  ///< settings that the plan needs
  std::string content;
};

/// Returns a file that runs the job by the plan. Environment variables supply the values that only the user knows. With
/// example values for them, importing the file yields the job, with lengths at their caps, and the plan. Returns an
/// Error if the trainer cannot run the job or the plan, or if a file without a base cannot express them.
base::Result<CompleteExport> export_complete_file(const plan::Job& job, const plan::Plan& plan,
                                                  std::string_view trainer);

}  // namespace dovetail::trainers
