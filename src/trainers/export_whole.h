// Plans as whole files of a trainer, without a configuration to begin from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "trainers/export/change.h"
#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

struct WholeExport {
  std::string trainer;
  bool is_script = true;  ///< else a configuration
  std::vector<DemandedName> demanded;
  std::vector<Change> changes;  ///< of them those without which it is not the plan
  std::string content;
};

/// A file that starts the plan: it says the job and how its tasks run, and demands what only the user can know. Read
/// again with values of what it demands (whose examples name the models) it gives the job, with lengths at their caps,
/// and the plan. An Error where the trainer does not run them, or not without settings that only its users know.
base::Result<WholeExport> export_whole(const plan::Job& job, const plan::Plan& plan, std::string_view trainer);

}  // namespace dovetail::trainers
