// A run of many steps whose responses grow: how long it takes, what it costs, when a plan stops fitting and where
// another one is better.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "planner/rank/rank.h"
#include "study/growth.h"

namespace dovetail::study {

/// Time that a run stands still every so many steps: a checkpoint, an evaluation.
struct Pause {
  std::int64_t every = 1;  ///< steps
  double seconds = 0;
};

struct ForecastOptions {
  std::int64_t steps = 1;  ///< from 1 to max_step_number
  std::vector<Pause> pauses = {};
  double restart_seconds = 0;  ///< what a change of the plan takes
  int searches = 3;  ///< lengths at which plans are searched, spread evenly from the first to the longest; 0, with a
                     ///< plan: it is kept
  planner::RankOptions rank = {};  ///< its time limit is for the whole forecast
  std::function<void(std::int64_t step)> on_search =
      {};  ///< called before plans are searched for the lengths of a step
};

/// A plan that a run can have.
struct ForecastPlan {
  plan::Plan plan;
  std::optional<std::int64_t> found_at;  ///< the step for whose lengths a search found it; nothing: it was given
  std::optional<double> over_bound;      ///< estimate_like
};

/// Steps that a run does with one plan.
struct ForecastSpan {
  std::size_t plan = 0;    ///< index in Forecast::plans
  std::int64_t first = 0;  ///< its steps
  std::int64_t last = 0;
  double first_seconds = 0;  ///< of an iteration at its first and at its last step
  double last_seconds = 0;
  double seconds = 0;  ///< of all its iterations
  /// Seconds that the span would take longer with the plan of the span before, without the restart; nothing of the
  /// first span, and where that plan does not fit any more.
  std::optional<double> saved;
};

/// What a plan misses where it stops fitting.
struct Overflow {
  std::int64_t step = 0;  ///< the first at which it does not fit
  std::size_t task = 0;
  int device = 0;
  std::int64_t needed = 0;  ///< bytes of the device; of host memory where that is what is too small
  std::int64_t usable = 0;
  bool host = false;
  /// Of the device the one that has grown the most since step 0; nothing of host memory.
  std::optional<predict::MemoryPart> part;
  std::int64_t part_growth = 0;
};

/// Where a run is at a step; seconds of an iteration.
struct ForecastPoint {
  std::int64_t step = 0;
  double factor = 1;  ///< LengthGrowth::factor_at
  double mean = 0;    ///< tokens of a response
  double at_cap = 0;  ///< share of the responses
  std::size_t plan = 0;
  double seconds = 0;
  std::int64_t margin = 0;  ///< bytes that the fullest device has left
  predict::Fit fit = predict::Fit::does_not_fit;
};

struct Forecast {
  std::int64_t steps = 0;           ///< that fit: all that were asked for, or those before no plan does
  std::vector<ForecastPlan> plans;  ///< those of the spans, in the order in which they are used first
  std::vector<ForecastSpan> spans;  ///< the schedule of plans; empty where none fits at step 0
  /// Some steps; among them the first, the last, and the first with the longest responses.
  std::vector<ForecastPoint> points;
  double seconds = 0;        ///< of all: iterations, pauses and restarts
  double pause_seconds = 0;  ///< of these
  double restart_seconds = 0;
  double gpu_hours = 0;  ///< all devices of the cluster, all the time
  std::optional<double> price;
  std::optional<double> kept_seconds;  ///< all of it with the first plan alone; nothing where that stops fitting
  std::optional<Overflow> overflow;    ///< of the first plan, if it were kept
  std::int64_t part = 1;               ///< steps that are calculated together, at the most
  std::size_t candidates = 0;          ///< plans that were compared at every step
};

/// Calculates the run in at most 100 parts of as many steps: the time of each with the mean lengths of its steps, its
/// memory with the longest of these. Plans are the given one and the best that rank_plans finds at some lengths. The
/// run begins with the given plan where it fits, else with one that is within the model's error of the fastest; it
/// changes to another where its plan does not fit any more, or where the other is faster by more than the model's
/// error. Of all schedules that keep these rules it is the shortest. Errors of rank_plans; infeasible where no plan is
/// given and none fits. REQUIRES: a plan, or searches > 0.
base::Result<Forecast> forecast(const predict::Scenario& scenario, const plan::Plan* plan, const LengthGrowth& growth,
                                const ForecastOptions& options);

}  // namespace dovetail::study
