// A plan of a job, played, as a page of the HTML report.
#pragma once

#include <vector>

#include "answer/runs/simulation.h"
#include "report/page/page.h"

namespace dovetail::report {

/// The tasks of the job, as tracks whose models are their roles.
std::vector<timeline::Track> tasks_of(const plan::Job& job);

/// The iteration that was played.
timeline::Timeline timeline_of(const answer::SimulationAnswer& played);

/// The timeline with memory beside what devices can use; the activities; where the time goes and what idle time is lost
/// to; what stage fusion gains; whether it fits; the other plans and why each loses; thresholds; the plan itself.
Page job_page(const answer::SimulationAnswer& played);

}  // namespace dovetail::report
