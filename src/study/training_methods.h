// Alternative schedules for the training phase of a plan on the same devices. Fused training pays off only if no
// unfused alternative is as fast.
//
// Each alternative is a schedule of training_problem with all mini-batches and their optimizer steps, but without host
// transfers and hand-overs. A task keeps its layout and settings, apart from those that the alternative changes. A task
// to which an alternative does not apply runs under 1F1B. Tasks on the same devices run one after the other; other
// tasks run in parallel.
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

enum class TrainingMethod {
  serial,       ///< each task separately under 1F1B (Narayanan et al. 2021), without virtual stages
  interleaved,  ///< 1F1B with 2, 4 or 8 virtual stages, whichever is fastest (Narayanan et al. 2021, section 2.2)
  zero_bubble,  ///< ZB-H1 or ZB-H2, whichever is faster and fits (Qi et al. 2024)
  smaller_micro_batches,  ///< 1F1B with micro-batches of a half to a sixteenth of the size, whichever is fastest and
                          ///< fits
  fused,                  ///< both trainings in one schedule (RLHFuse, NSDI 2025, section 5)
  fused_smaller,          ///< fused, with smaller micro-batches of both trainings
  as_planned,             ///< each task with the virtual stages of its plan
};
/// The methods to compare a plan with.
inline constexpr TrainingMethod training_methods[] = {
    TrainingMethod::serial,      TrainingMethod::interleaved,
    TrainingMethod::zero_bubble, TrainingMethod::smaller_micro_batches,
    TrainingMethod::fused,       TrainingMethod::fused_smaller};

inline bool is_fused(TrainingMethod method) {
  return method == TrainingMethod::fused || method == TrainingMethod::fused_smaller;
}

/// Returns the name for messages: "1F1B", "interleaved 1F1B", "zero bubble", "smaller micro-batches", "fused", "fused
/// smaller micro-batches" or "as planned".
std::string_view name_of(TrainingMethod method);

/// Result for one method of running the training phase.
struct TrainingAlternative {
  TrainingMethod method = TrainingMethod::serial;
  double seconds = 0;            ///< duration of the phase: the time of the devices that take longest
  std::int64_t activations = 0;  ///< peak activation bytes on any device, for the largest micro-batches
  predict::Fit fit = predict::Fit::does_not_fit;
  bool planned = false;      ///< whether the plan already uses this method
  std::string how = {};      ///< changed tasks and settings; for `serial`, the order of the tasks; may be empty
  std::string why_not = {};  ///< why the method is not possible; the figures are then meaningless
  plan::Plan plan = {};      ///< the plan with the changes, and with the fusion of the given plan

  bool fits() const { return fit != predict::Fit::does_not_fit; }
};

/// Values of TrainingAlternative::why_not.
inline constexpr const char* no_time = "there was no time to evaluate it";
inline constexpr const char* too_large = "the training phase is too large or too long for a schedule";

/// Evaluates an unfused method. If the method splits the backward pass, its weight gradients take as long as the matrix
/// products of the forward pass, and its input gradients take the rest. A micro-batch keeps its activations until its
/// weight gradients are computed. Returns the fastest variant that fits. If none fits, returns the fastest one, or
/// ZB-H1 for zero bubble. REQUIRES: a valid plan; not is_fused(method).
TrainingAlternative training_alternative(const predict::Scenario& scenario, const plan::Plan& plan,
                                         TrainingMethod method);

/// Schedule of both trainings together.
struct FusedPhase {
  double seconds = 0;            ///< duration of the schedule
  std::int64_t activations = 0;  ///< peak activation bytes on any device, for the largest micro-batches
};

/// Evaluates TrainingMethod::fused: `pair` in one schedule, and all other tasks as in TrainingMethod::serial. REQUIRES:
/// `fused` describes the schedule of `pair`.
TrainingAlternative fused_alternative(const predict::Scenario& scenario, const plan::Plan& plan, plan::TrainPair pair,
                                      const FusedPhase& fused);

/// Evaluates TrainingMethod::fused_smaller with the first two smaller micro-batch sizes of both trainings: a half and a
/// quarter, if these give more micro-batches. intra_stage() computes each schedule. Returns the fastest that fits or,
/// if none fits, the fastest; why_not states the cause if there are no schedules. REQUIRES: find_training_fault finds
/// no fault.
TrainingAlternative fused_smaller_alternative(const predict::Scenario& scenario, const plan::Plan& plan,
                                              plan::TrainPair pair);

}  // namespace dovetail::study
