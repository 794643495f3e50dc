// HTML report page of a simulated plan, and its sections.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/runs/simulation.h"
#include "planner/advice/comparison.h"
#include "report/page/page.h"
#include "simulate/trace.h"

namespace dovetail::report {

/// Returns a track per task of the job. Tasks of the same role have the same color.
std::vector<timeline::Track> tasks_of(const plan::Job& job);

/// Returns the timeline of the simulated iteration.
timeline::Timeline timeline_of(const answer::SimulationAnswer& simulated);

/// Builds the page. Sections in order: plan (with iteration time, gain and fit), ranked plans, timeline (with memory
/// and its limit), activities, time use, idle time by cause, gain from stage fusion, migration thresholds, memory, and
/// settings that are not modeled.
Page job_page(const answer::SimulationAnswer& simulated);

/// Returns the chart of an iteration. If there are too many bars for a page, short neighboring bars are combined
/// (timeline::downsampled) and the note says so.
Chart iteration_chart(timeline::Timeline timeline, std::string title);

/// Breaks down the devices' time, in ns, by use. The first row is for all devices together. Each other row is for one
/// lane, counted as a single device. Waiting for launches counts as idle time, although bars include it in their work.
/// `tasks` is indexed by Span::task.
Breakdown use_breakdown(const simulate::Trace& trace, const std::vector<timeline::Track>& tasks);
/// Breaks down idle time by cause, as a share of each row's total time. The first row is for all devices together; then
/// the lanes with the most idle time come first.
Breakdown idle_use_breakdown(const simulate::Trace& trace, const std::vector<timeline::Track>& tasks);

/// Returns a row per activity, in order of start, with simulated and analytical seconds. Rows link to the first bar of
/// `timeline` that belongs to the activity.
Table activity_table(const answer::SimulationAnswer& simulated, const timeline::Timeline& timeline);

/// Returns a row per fusion variant: seconds per iteration, speedup over no fusion, and the average device's seconds of
/// hand-over, of idle time, and of each cause of idle time that is not negligible. Without variants, the only row is
/// the plan itself, and the note explains why there are no variants.
Table fusion_table(const answer::SimulationAnswer& simulated);

/// Returns a row per task with a model, for the device with the least free memory: peak, usable and free memory, and
/// the largest parts of the peak. Marks the task with the least free memory.
Table memory_table(const answer::SimulationAnswer& simulated);

/// Returns the ranked plans, the shown plan and, if there is one, the trainer's configuration, fastest first by the
/// analytical model. Each row lists the activities that differ most from the shown plan. REQUIRES: there is a ranking.
Table ranking_table(const answer::SimulationAnswer& simulated);

/// Returns seconds per iteration over the migration threshold. REQUIRES: at least one threshold of the sweep has
/// figures.
LineChart threshold_chart(const study::Sweep& thresholds);

/// Gain of the shown plan over the plan that the user would otherwise run. Seconds come from the analytical model.
struct Gain {
  std::string over;  ///< "the trainer's configuration", "co-located, the fastest usual placement"
  double seconds_there = 0;
  double seconds_here = 0;

  double factor() const { return seconds_there / seconds_here; }
};

/// Returns the gain over the trainer's configuration if the answer has one. Otherwise returns the gain over the fastest
/// other ranked plan whose placement is one of planner::named_placements. In the second case, nullopt if there is no
/// such plan or no ranking, or if faster_plan() finds a plan.
std::optional<Gain> gain_of(const answer::SimulationAnswer& simulated);

/// Returns the fastest ranked plan if the analytical model predicts that it takes more than 0.05% less time than the
/// shown plan, otherwise null.
const planner::RankedPlan* faster_plan(const answer::SimulationAnswer& simulated);

/// Returns a row per task with its devices, layout and settings. The note gives the iteration time, the gain, and
/// whether the plan fits.
Table plan_table(const answer::SimulationAnswer& simulated);

/// Returns a row per setting that the figures do not account for.
Table not_modelled_table(const plan::Job& job);

/// Explains briefly why `plan` is slower or faster than `other`: "idle time +1.9 s, actor_train +1.2 s (bubbles +0.9
/// s)". Lists at most three reasons: the average device's idle time, the critical activities that differ most (fused
/// activities count as one), and the tasks whose overlap differs most. If nothing explains the difference, returns "no
/// significant difference".
std::string reasons_against(const predict::Scenario& scenario, const planner::EstimatedPlan& plan,
                            const planner::EstimatedPlan& other);

}  // namespace dovetail::report
