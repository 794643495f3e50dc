// Generation fused with inference, simulated on the devices of a plan (simulate/inter_stage.h).
#pragma once

#include <optional>
#include <string>

#include "plan/plan.h"
#include "predict/closed_form/scenario.h"
#include "predict/simulated/task_traces.h"
#include "simulate/inter_stage.h"
#include "simulate/threshold.h"

namespace dovetail::predict {

/// Returns the input for simulations of the stage. Each time a worker changes to the model of another task, it waits
/// for the host transfers of overhead_seconds and for gathering_seconds. The first time, it also waits for the task's
/// hand-over. In an unfused stage, all devices together wait for the host transfers and the hand-over of each task.
/// Dropping the actor takes no time: its weights are assumed to be discarded. `scenario` must outlive the result.
simulate::InterStageTask inter_stage_task(const Scenario& scenario, const plan::Plan& plan,
                                          const plan::GenerationStage& stage);

/// Simulates the fused generation and inference at the plan's threshold. REQUIRES: the plan has a threshold and no
/// fault.
simulate::InterStage inter_stage_of(const Scenario& scenario, const plan::Plan& plan, const Draw& draw);

/// Simulates generation and inference unfused and at each of simulate::default_thresholds(), on `draws` draws of the
/// seed. nullopt if stopped. REQUIRES: find_threshold_fault finds no fault for any of these thresholds.
std::optional<simulate::ThresholdChoice> simulated_thresholds(const Scenario& scenario, const plan::Plan& plan,
                                                              std::uint64_t seed, int draws);

/// Returns why no samples migrate at any threshold, as a clause without a full stop. REQUIRES: no samples migrate.
std::string why_no_migration(const Scenario& scenario, const plan::Plan& plan);

/// Returns why_no_migration() for the thresholds that were simulated. nullopt if samples migrate at one of them.
std::optional<std::string> find_migration_fault(const Scenario& scenario, const plan::Plan& plan,
                                                const simulate::ThresholdChoice& choice);

}  // namespace dovetail::predict
