// Where the time of one plan goes, and where that of another does: step by step, and by what devices do meanwhile.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "place/predict/estimate.h"

namespace dovetail::place {

/// Seconds in an iteration of either plan.
struct SecondsPair {
  double here = 0;
  double there = 0;

  double lost() const { return here - there; }
};

/// A task, the weights that are moved to where it uses them (several tasks may share these: the first is named), or what it has in host
/// memory.
struct StepComparison {
  std::size_t task = 0;
  plan::Step::Kind kind = plan::Step::Kind::task;
  SecondsPair seconds;  ///< 0 where the plan has no such step
  /// What one second less of the step takes off the iteration: 1 of a critical step, 0 of one that others hide.
  SecondsPair critical;
  std::string part;  ///< of its seconds the one that differs most ("communication"), empty where none does
  SecondsPair of_part;
};

/// What the average device does; all uses together are the iteration.
struct TimeUse {
  std::string name;  ///< "compute", "bubbles", "idle", ...
  SecondsPair seconds;
};

/// Devices that idle alike, in the first plan.
struct IdleDevices {
  cluster::Mesh devices;
  double seconds = 0;  ///< of an iteration
};

struct Comparison {
  std::vector<StepComparison> steps;  ///< by the seconds that are lost, the most first
  std::vector<TimeUse> uses;          ///< likewise
  std::vector<IdleDevices> idle;      ///< the idlest first
};

/// A plan with its estimate.
struct EstimatedPlan {
  const plan::Plan& plan;
  const Estimate& estimate;
};

/// How much the iteration has of each step: [step], the change of the period by a hundredth of the step, as a part of that.
std::vector<double> criticality(const Ground& ground, const EstimatedPlan& of);

Comparison compare(const Ground& ground, const EstimatedPlan& here, const EstimatedPlan& there);

}  // namespace dovetail::place
