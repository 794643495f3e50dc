// The training phase of a plan, run in other ways on the same devices: what one fused schedule has to beat.
//
// Every way is a schedule of what training_problem says, with all mini-batches and their optimizer steps, and without
// what tasks have beside them (host transfers, hand-over). A task keeps its layout and its settings but for what the
// way changes; where a way does nothing for a task, the task runs under 1F1B. Tasks on the same devices follow one
// another, others run at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/memory.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::study {

enum class TrainingWay {
  serial,       ///< every task by itself under 1F1B (Narayanan et al. 2021), without virtual stages
  interleaved,  ///< the same with 2, 4 or 8 virtual stages, whichever is fastest (Narayanan et al. 2021, section 2.2)
  zero_bubble,  ///< ZB-H1 or ZB-H2, whichever is faster and fits (Qi et al. 2024)
  smaller_micro_batches,  ///< 1F1B with more and smaller micro-batches, of a half to a sixteenth, whatever is fastest
                          ///< and fits
  fused,                  ///< both trainings in one schedule (RLHFuse, NSDI 2025, section 5)
  fused_smaller,          ///< the same with more and smaller micro-batches of both
  as_planned,             ///< each in the virtual stages that the plan says
};
/// Those that a plan is compared in.
inline constexpr TrainingWay training_ways[] = {TrainingWay::serial,      TrainingWay::interleaved,
                                                TrainingWay::zero_bubble, TrainingWay::smaller_micro_batches,
                                                TrainingWay::fused,       TrainingWay::fused_smaller};

inline bool is_fused(TrainingWay way) { return way == TrainingWay::fused || way == TrainingWay::fused_smaller; }

/// "1F1B", "interleaved 1F1B", "zero bubble", "smaller micro-batches", "fused", "fused smaller micro-batches", "as
/// planned".
std::string_view name_of(TrainingWay way);

/// The training phase in one way.
struct TrainingAlternative {
  TrainingWay way = TrainingWay::serial;
  double seconds = 0;            ///< of the phase, on the devices that take longest
  std::int64_t activations = 0;  ///< bytes that the fullest device holds at most, of fullest micro-batches
  predict::Fit fit = predict::Fit::does_not_fit;
  bool planned = false;      ///< it is what the plan says
  std::string how = {};      ///< what is changed of which task, of `serial` how they follow one another; empty: nothing
  std::string why_not = {};  ///< it cannot be had: the figures are none
  plan::Plan plan = {};      ///< the plan with what is changed; its fusion is the given plan's

  bool fits() const { return fit != predict::Fit::does_not_fit; }
};

/// All but what is fused. A backward is split by what it computes: its weight gradients are the products of a forward,
/// all else is the input gradient's. A micro-batch keeps all of its activations until its weight gradients are
/// computed. Of what fits the fastest is taken; of zero bubble ZB-H1 where neither fits. REQUIRES: no fault in the
/// plan; not is_fused(way).
TrainingAlternative training_alternative(const predict::Scenario& scenario, const plan::Plan& plan, TrainingWay way);

/// Both trainings in one schedule.
struct FusedPhase {
  double seconds = 0;            ///< of the schedule
  std::int64_t activations = 0;  ///< bytes of fullest micro-batches that the fullest device holds
};

/// TrainingWay::fused: `pair` in a schedule, with all else as in TrainingWay::serial. REQUIRES: `fused` is of these
/// tasks of the plan.
TrainingAlternative fused_alternative(const predict::Scenario& scenario, const plan::Plan& plan, plan::TrainPair pair,
                                      const FusedPhase& fused);

/// TrainingWay::fused_smaller: with the first two sizes of smaller micro-batches of both trainings (a half and a
/// quarter, where these make more micro-batches), each as intra_stage() schedules it; of those that fit the fastest.
/// REQUIRES: no find_training_fault.
TrainingAlternative fused_smaller_alternative(const predict::Scenario& scenario, const plan::Plan& plan,
                                              plan::TrainPair pair);

}  // namespace dovetail::study
