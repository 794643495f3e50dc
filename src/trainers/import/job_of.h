// An imported run as a job and a plan.
#pragma once

#include <string>

#include "base/result.h"
#include "plan/plan.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/options.h"

namespace dovetail::trainers {

/// The run as dovetail/job@1 in YAML: the cluster's and the lengths' values as they were given. Lengths of which
/// nothing was said are all at their cap. An Error where what `options` say of lengths is none.
base::Result<std::string> job_text(const ImportedRun& run, const ImportOptions& options);

/// An Error where lengths that `options` say, as the job of that text has them, go beyond where the run ends them.
base::Status check_said_lengths(const ImportedRun& run, const ImportOptions& options,
                                const workflow::Workload& workload);

/// How the run's tasks are laid out. An Error where the workflow of `job`, which was read from the run's text, has a
/// task that the run says nothing of, or where they make no plan.
base::Result<plan::Plan> plan_of(const ImportedRun& run, const plan::Job& job);

}  // namespace dovetail::trainers
