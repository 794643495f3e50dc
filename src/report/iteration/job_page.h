// HTML report page of a simulated plan.
#pragma once

#include <string>
#include <vector>

#include "answer/runs/simulation.h"
#include "report/page/page.h"
#include "simulate/trace.h"

namespace dovetail::report {

/// Returns the job's tasks as tracks whose models are their roles.
std::vector<timeline::Track> tasks_of(const plan::Job& job);

/// Returns the timeline of the simulated iteration.
timeline::Timeline timeline_of(const answer::SimulationAnswer& played);

/// Builds the page. Sections in order: timeline with memory and its limit, activities, time use, idle time by cause,
/// gain from stage fusion, migration thresholds, memory, ranked plans, the plan itself, and settings that are not
/// modeled.
Page job_page(const answer::SimulationAnswer& played);

/// Returns the chart of an iteration. If there are too many bars for a page, short neighbors are combined
/// (timeline::thinned) and the note says so.
Chart iteration_chart(timeline::Timeline timeline, std::string title);

/// Breaks down the devices' time in ns: one row for all devices together, then one row per lane for a single device.
/// Waiting for launches counts as idle time here, although bars include it in their work. `tasks` is indexed by
/// Span::task.
Breakdown use_breakdown(const simulate::Trace& trace, const std::vector<timeline::Track>& tasks);
/// Breaks down idle time by cause, as a share of each row's total time. The lanes with the most idle time come first.
Breakdown idle_use_breakdown(const simulate::Trace& trace, const std::vector<timeline::Track>& tasks);

}  // namespace dovetail::report
