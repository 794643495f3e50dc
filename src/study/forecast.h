// Forecasts a run of many steps whose responses grow: duration, cost, when a plan stops fitting, and when another plan
// is better.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "parallel/cancellation.h"
#include "planner/rank/rank.h"
#include "study/growth.h"

namespace dovetail::study {

/// Pause of a run after every `every` steps, for a checkpoint or an evaluation.
struct Pause {
  std::int64_t every = 1;  ///< steps
  double seconds = 0;
};

struct ForecastOptions {
  std::int64_t steps = 1;  ///< from 1 to max_step_number
  std::vector<Pause> pauses = {};
  double restart_seconds = 0;  ///< seconds to change the plan
  int searches = 3;  ///< number of response lengths to search plans for, spread evenly from the first to the longest;
                     ///< 0: only the given plan is used
  planner::RankOptions rank = {};  ///< options of these searches; the time limit is for the whole forecast
  std::function<void(std::int64_t step)> on_search =
      {};  ///< called before each search, with the step whose lengths it uses
};

/// Candidate plan of the forecast.
struct ForecastPlan {
  plan::Plan plan;
  std::optional<std::int64_t> found_at;  ///< step whose lengths the search used; nullopt: the given plan
  std::optional<double> over_bound;      ///< argument of predict::estimate_like; nullopt: no fused training
};

/// Consecutive steps with one plan.
struct ForecastSpan {
  std::size_t plan = 0;      ///< index in Forecast::plans
  std::int64_t first = 0;    ///< first step
  std::int64_t last = 0;     ///< last step
  double first_seconds = 0;  ///< seconds of an iteration at the first step
  double last_seconds = 0;   ///< seconds of an iteration at the last step
  double seconds = 0;        ///< total seconds of the span's iterations
  /// Seconds that the span saves compared with the previous span's plan, in the parts in which that plan fits and not
  /// counting the restart. nullopt for the first span, or if that plan does not fit in the first part of this span.
  std::optional<double> saved;
};

/// Memory that a plan lacks at the step where it stops fitting.
struct Overflow {
  std::int64_t step = 0;  ///< first step at which the plan does not fit
  std::size_t task = 0;
  int device = 0;
  std::int64_t needed = 0;  ///< bytes
  std::int64_t usable = 0;  ///< bytes
  bool host = false;        ///< `needed` and `usable` are of host memory; false: of device memory
  /// The part of device memory that has grown most since step 0; nullopt for host memory.
  std::optional<predict::MemoryPart> part;
  std::int64_t part_growth = 0;  ///< bytes by which `part` has grown
};

/// State of a run at one step. Seconds are those of an iteration.
struct ForecastPoint {
  std::int64_t step = 0;
  double factor = 1;  ///< factor on response lengths (LengthGrowth::factor_at)
  double mean = 0;    ///< mean response length in tokens
  double at_cap = 0;  ///< fraction of responses at the cap
  std::size_t plan = 0;
  double seconds = 0;
  std::int64_t margin = 0;  ///< smallest number of free bytes on any device
  predict::Fit fit = predict::Fit::does_not_fit;
};

struct Forecast {
  /// Number of steps: all requested steps, or only those before the first step at which no plan fits.
  std::int64_t steps = 0;
  std::vector<ForecastPlan> plans;  ///< plans of the spans, in order of first use; without spans, one candidate
  std::vector<ForecastSpan> spans;  ///< in order of steps; empty if no plan fits at step 0
  /// Selected steps. They include the first, the last, and the first with the longest responses.
  std::vector<ForecastPoint> points;
  double seconds = 0;        ///< total: iterations, pauses and restarts
  double pause_seconds = 0;  ///< seconds of pauses, part of the total
  double restart_seconds = 0;
  double gpu_hours = 0;  ///< for all devices of the cluster during the whole run
  std::optional<double> price;
  std::optional<double> kept_seconds;  ///< total with only the first plan; nullopt if that plan stops fitting
  std::optional<Overflow> overflow;    ///< of the first plan, if it were kept; nullopt if it always fits
  std::int64_t part = 1;               ///< maximum number of steps that are calculated together
  std::size_t candidates = 0;          ///< number of plans compared at every step
};

/// Forecasts a run in at most 100 parts (run_parts). The time of a part is computed from the mean lengths of its steps,
/// and its memory from their maximum lengths.
///
/// The candidate plans are the given plan and the best plans that rank_plans finds for several lengths. The run starts
/// with the given plan if it fits, else with a plan within the model's error of the fastest. It may change its plan
/// if the current one stops fitting, or if another is faster by more than the model's error. Among all sequences of
/// plans that obey these rules, the result is the fastest.
///
/// Returns an Error if rank_plans rejects the job as bad input. Without a given plan, also returns an Error if no plan
/// fits at any length (Failure::infeasible), or if stopped before a plan was found. REQUIRES: a plan, or searches > 0.
base::Result<Forecast> forecast(const predict::Scenario& scenario, const plan::Plan* plan, const LengthGrowth& growth,
                                const ForecastOptions& options);

/// Steps that are calculated together.
struct RunPart {
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::int64_t steps() const { return last - first + 1; }
};

/// Divides the steps into at most `most` parts. All have the same size, except that the last may be smaller. REQUIRES:
/// steps >= 1, most >= 1.
std::vector<RunPart> run_parts(std::int64_t steps, std::int64_t most);

struct PartCost {
  double seconds = 0;  ///< seconds of an iteration with the mean lengths of the part
  bool fits = false;   ///< whether the plan fits with the longest lengths of the part
};

/// The job at a step of a run, or with other response lengths, and predictions for its plans.
class RunStep {
 public:
  RunStep(const predict::Scenario& scenario, const LengthGrowth& growth, std::int64_t step);
  RunStep(const predict::Scenario& scenario, workflow::LengthDistribution responses);
  RunStep(const RunStep&) = delete;
  RunStep& operator=(const RunStep&) = delete;

  const plan::Job& job() const { return job_; }
  const predict::Scenario& scenario() const { return scenario_; }
  /// Estimates the plan with estimate_like. If the plan fuses trainings and the estimate does not fit, repeats it with
  /// a new fused schedule, which may need less memory.
  predict::Estimate estimate(const ForecastPlan& plan) const;

 private:
  plan::Job job_;
  predict::Scenario scenario_;  ///< scenario of job_
};

/// Computes the cost of each plan in each part, [part][plan]. If canceled, returns only the first parts.
std::vector<std::vector<PartCost>> run_costs(const predict::Scenario& scenario, const LengthGrowth& growth,
                                             const std::vector<RunPart>& parts, const std::vector<ForecastPlan>& plans,
                                             const parallel::Cancellation* cancellation = nullptr);

/// The first step in [from, to] at which the plan does not fit, assuming that longer responses never need less memory;
/// nullopt if it always fits.
std::optional<std::int64_t> first_overflow(const predict::Scenario& scenario, const LengthGrowth& growth,
                                           const ForecastPlan& plan, std::int64_t from, std::int64_t to);

/// Returns the memory that the plan lacks at the step. REQUIRES: the plan does not fit there.
Overflow overflow_at(const predict::Scenario& scenario, const LengthGrowth& growth, const ForecastPlan& plan,
                     std::int64_t step);

}  // namespace dovetail::study
