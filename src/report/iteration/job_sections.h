// Sections of the page of a job that are no timeline. Private to report.
#pragma once

#include "report/iteration/job_page.h"

namespace dovetail::report {

/// A row for each activity, in order of time: seconds simulated and by the closed form. Rows lead to the first bar of
/// `timeline` that works for the activity's task.
Table activity_table(const answer::SimulationAnswer& played, const timeline::Timeline& timeline);

/// A row for each variant: seconds of the iteration, how much faster than without fusion, and the idle time of the
/// average device by cause. Without variants the row of the plan alone; the notes say why.
Table fusion_table(const answer::SimulationAnswer& played);

/// A row for each task: what its fullest device holds while it runs, of what, and what is left. The tightest is marked.
Table memory_table(const answer::SimulationAnswer& played);

/// The plans of the ranking, and the plan that is shown where it is none of them, the fastest first by their closed
/// forms; with the activities that make the difference from the plan that is shown. REQUIRES: there is a ranking.
Table ranking_table(const answer::SimulationAnswer& played);

/// Seconds of an iteration over the threshold. REQUIRES: a sweep of thresholds with at least one that has figures.
LineChart threshold_chart(const study::Sweep& thresholds);

/// A row for each task: its devices, layout and settings.
Table plan_table(const answer::SimulationAnswer& played);

/// A row for each setting that no figure counts.
Table not_modelled_table(const plan::Job& job);

}  // namespace dovetail::report
