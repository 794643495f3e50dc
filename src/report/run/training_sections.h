// A training phase of a run as sections of its page. Private to report.
#pragma once

#include "records/training_phases.h"
#include "report/page/page.h"

namespace dovetail::report {

/// What the schedule predicts and what the ranks did, over each other; how long both take, and what fusion saved.
void add_training_phase(Page& page, const records::TrainingPhase& phase);

}  // namespace dovetail::report
