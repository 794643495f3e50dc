// Where the time of one plan goes, and where that of another does: activity by activity, and by what devices do
// meanwhile.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "predict/closed_form/estimate.h"

namespace dovetail::planner {

/// Seconds in an iteration of either plan.
struct SecondsPair {
  double here = 0;
  double there = 0;

  double lost() const { return here - there; }
};

/// A task, the weights that are moved to where it uses them (several tasks may share these: the first is named), or
/// what it has in host memory.
struct ActivityComparison {
  std::size_t task = 0;
  plan::Activity::Kind kind = plan::Activity::Kind::task;
  SecondsPair seconds;  ///< 0 where the plan has no such activity
  /// What one second less of the activity takes off the iteration: 1 of a critical activity, 0 of one that others hide.
  SecondsPair critical;
  /// Of its seconds those that differ most; nothing where none do, or one plan alone fuses it.
  std::optional<predict::SecondsOf> part;
  SecondsPair of_part;
  /// Whether the plan fuses the activity with others: their seconds stand at the first of them, the others have none of
  /// their own.
  bool fused_here = false;
  bool fused_there = false;
};

/// What the average device does; all uses together are the iteration.
struct TimeUse {
  predict::SecondsOf of = predict::SecondsOf::idle;
  SecondsPair seconds;
};

/// Devices that idle alike, in the first plan.
struct IdleDevices {
  cluster::Mesh devices;
  double seconds = 0;  ///< of an iteration
};

struct Comparison {
  std::vector<ActivityComparison> activities;  ///< by the seconds that are lost, the most first
  std::vector<TimeUse> uses;                   ///< likewise
  std::vector<IdleDevices> idle;               ///< the idlest first
};

/// A plan with its estimate.
struct EstimatedPlan {
  const plan::Plan& plan;
  const predict::Estimate& estimate;
};

/// How much the iteration has of each activity: [activity], the change of the period by a hundredth of the activity, as
/// a part of that.
std::vector<double> criticality(const predict::Scenario& scenario, const EstimatedPlan& of);

Comparison compare(const predict::Scenario& scenario, const EstimatedPlan& here, const EstimatedPlan& there);

}  // namespace dovetail::planner
