// A run as a timeline: what its iterations spent their time on.
#pragma once

#include "records/figure_table.h"
#include "timeline/timeline.h"

namespace dovetail::records {

/// One lane, iteration after iteration as metrics.jsonl times them (`metrics`): a bar for each task, named after it,
/// and one named "other" for what of the iteration is no task; behind it the evaluation that eval.jsonl times
/// (`evaluations`). Checkpoints, and pauses of a run that was stopped, are not there. Times in ns, shown in seconds.
timeline::Timeline run_timeline(const FigureTable& metrics, const FigureTable& evaluations);

}  // namespace dovetail::records
