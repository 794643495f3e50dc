// Lengths for a trainer's configuration, which has only caps: from the log of a run or from a table.
#pragma once

#include "answer/question/input.h"
#include "answer/question/watch.h"
#include "trainers/import_run.h"

namespace dovetail::answer {

/// Returns the lengths in the log of a run.
LengthsLogged lengths_logged(const measure::MeasuredRun& run, std::string name);

/// Adds lengths to the import options of `input` where it gives none: from the file that it names, otherwise from its
/// log. `import` is the configuration without them. A note reports what is used. An Error if the file is neither a log
/// with lengths nor a table of them.
base::Result<trainers::ImportOptions> options_with_lengths(const JobInput& input, const trainers::Import& import,
                                                           const Watch& watch);

}  // namespace dovetail::answer
