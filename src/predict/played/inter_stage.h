// Generation and inference of a plan together, as their devices live through it (simulate/inter_stage.h).
#pragma once

#include <optional>
#include <string>

#include "plan/plan.h"
#include "predict/closed_form/scenario.h"
#include "predict/played/generation.h"
#include "simulate/inter_stage.h"
#include "simulate/threshold.h"

namespace dovetail::predict {

/// What simulations of the stage take. A worker that begins to score for a task has its weights after the host
/// transfers that overhead_seconds says of it, each time that it changes to this model, and its samples after the
/// task's hand-over, the first time: what without fusion all devices pay at once. Dropping the actor takes no time: its
/// weights are given back, not moved. `scenario` must outlive it.
simulate::InterStageTask inter_stage_task(const Scenario& scenario, const plan::Plan& plan,
                                          const plan::GenerationStage& stage);

/// Both stages at the plan's threshold. REQUIRES: the plan has one, and no fault.
simulate::InterStage inter_stage_of(const Scenario& scenario, const plan::Plan& plan, const Draw& draw);

/// simulate::usual_thresholds(), and none, played on `draws` draws of the seed. Nothing where it is stopped. REQUIRES:
/// find_threshold_fault finds none for any of them.
std::optional<simulate::ThresholdChoice> simulated_thresholds(const Scenario& scenario, const plan::Plan& plan,
                                                              std::uint64_t seed, int draws);

/// Why nothing migrates at any threshold, where nothing does; without a period.
std::string why_nothing_migrates(const Scenario& scenario, const plan::Plan& plan);

/// The same of the thresholds that were played; nothing where something migrates.
std::optional<std::string> find_migration_fault(const Scenario& scenario, const plan::Plan& plan,
                                                const simulate::ThresholdChoice& choice);

}  // namespace dovetail::predict
