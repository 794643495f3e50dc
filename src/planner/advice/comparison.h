// Compares how two plans spend their time: by activity, by use of the devices, and by tasks that run at the same time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "predict/closed_form/estimate.h"

namespace dovetail::planner {

/// A value of each of two plans, usually in seconds per iteration.
struct SecondsPair {
  double here = 0;   ///< in the first plan
  double there = 0;  ///< in the second plan

  /// Returns the seconds that the first plan loses to the second. Negative if the first plan is faster.
  double lost() const { return here - there; }
};

/// Comparison of a task, of a reallocation of weights (named after the first task that uses them), or of a task's host
/// transfers.
struct ActivityComparison {
  std::size_t task = 0;
  plan::Activity::Kind kind = plan::Activity::Kind::task;
  SecondsPair seconds;  ///< 0 for a plan without such an activity
  /// Seconds by which the iteration gets shorter for each second by which the activity gets shorter: 1 for a critical
  /// activity, 0 for one that others hide (see criticality()).
  SecondsPair critical;
  /// Part of the activity's seconds that differs most between the plans. nullopt if no part differs, if only one plan
  /// fuses the activity, or if the first plan lacks the activity.
  std::optional<predict::SecondsOf> part;
  SecondsPair of_part;  ///< seconds of `part`
  // Fused tasks form one activity. Its seconds are attributed to its generate task or its first train
  // task, and its other tasks have 0 seconds.
  bool fused_here = false;   ///< whether the first plan fuses the activity with others
  bool fused_there = false;  ///< whether the second plan does
};

/// Time that a device spends on one use, averaged over all devices. The uses add up to the iteration.
struct TimeUse {
  predict::SecondsOf of = predict::SecondsOf::idle;
  SecondsPair seconds;
};

/// Consecutive devices with the same idle time in the first plan.
struct IdleDevices {
  cluster::Mesh devices;
  double seconds = 0;  ///< per iteration
};

struct Comparison {
  std::vector<ActivityComparison> activities;  ///< by lost seconds, descending
  std::vector<TimeUse> uses;                   ///< by lost seconds, descending
  std::vector<IdleDevices> idle;               ///< by idle time, descending
};

/// A plan with its estimate.
struct EstimatedPlan {
  const plan::Plan& plan;
  const predict::Estimate& estimate;
};

/// Returns the criticality of each activity ([activity]): the time by which the period gets shorter if the activity
/// gets 1% shorter, divided by that 1% of the activity's time.
std::vector<double> criticality(const predict::Scenario& scenario, const EstimatedPlan& of);

Comparison compare(const predict::Scenario& scenario, const EstimatedPlan& here, const EstimatedPlan& there);

/// Two tasks, and how long both run at the same time in an iteration of each plan.
struct SideBySide {
  std::size_t one = 0;
  std::size_t two = 0;
  SecondsPair seconds;
};

/// Returns all pairs of tasks that run at the same time in either plan, sorted by the absolute difference between the
/// plans, descending. If iterations overlap, tasks of neighboring iterations also count.
std::vector<SideBySide> side_by_side(const EstimatedPlan& here, const EstimatedPlan& there);

}  // namespace dovetail::planner
