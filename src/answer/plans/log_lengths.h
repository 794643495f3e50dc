// Lengths of a trainer's configuration, which says only their caps, from the log of a run or from a file.
#pragma once

#include "answer/question/input.h"
#include "answer/question/watch.h"
#include "trainers/import_run.h"

namespace dovetail::answer {

/// What the log of a run says of lengths.
LengthsLogged lengths_logged(const measure::MeasuredRun& run, std::string name);

/// What `input` says beside its configuration, with lengths where it says none itself: of the file that it names for
/// them, else those that a log said. `import` is that configuration without. A note says what is taken. An Error where
/// the file is neither a log that says lengths nor a table of them.
base::Result<trainers::ImportOptions> options_with_lengths(const JobInput& input, const trainers::Import& import,
                                                           const Watch& watch);

}  // namespace dovetail::answer
