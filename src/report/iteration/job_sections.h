// Sections of a job's page other than the timeline. Private to report.
#pragma once

#include <string>

#include "planner/advice/comparison.h"
#include "report/iteration/job_page.h"

namespace dovetail::report {

/// Returns a row per activity in order of time, with simulated and analytical seconds. Rows link to the first bar of
/// `timeline` that belongs to the activity.
Table activity_table(const answer::SimulationAnswer& played, const timeline::Timeline& timeline);

/// Returns a row per fusion variant: seconds per iteration, speedup over no fusion, and the average device's idle time
/// by cause. Without variants, the only row is the plan itself. The note gives the reasons.
Table fusion_table(const answer::SimulationAnswer& played);

/// Returns a row per task: memory needed, usable and left on the device with the least memory left. Marks the task with
/// the least.
Table memory_table(const answer::SimulationAnswer& played);

/// Returns the ranked plans and the shown plan, fastest first by the analytical model, with the activities that differ
/// most from the shown plan. REQUIRES: there is a ranking.
Table ranking_table(const answer::SimulationAnswer& played);

/// Returns seconds per iteration over the migration threshold. REQUIRES: at least one threshold of the sweep has
/// figures.
LineChart threshold_chart(const study::Sweep& thresholds);

/// Returns a row per task with its devices, layout and settings.
Table plan_table(const answer::SimulationAnswer& played);

/// Returns a row per setting that no figure accounts for.
Table not_modelled_table(const plan::Job& job);

/// Explains in a few words why `plan` is slower or faster than `other`: "idle time +1.9 s, actor_train +1.2 s (bubbles
/// +0.9 s)". Lists at most three reasons: the average device's idle time, the critical activities that differ most
/// (fused activities count as one), and tasks that overlap in only one of the plans. If no activity differs, the text
/// says so.
std::string reasons_against(const predict::Scenario& scenario, const planner::EstimatedPlan& plan,
                            const planner::EstimatedPlan& other);

}  // namespace dovetail::report
