// What predictions are made with, and what plans leave free: in words.
#pragma once

#include <string>

#include "planner/rank/rank.h"

namespace dovetail::answer {

/// Why a job has its efficiencies: "GPU H100-80 and training megatron are what h100/megatron-vllm was fitted to".
std::string efficiency_words(const predict::Software& software);

/// What plans leave of a device: "5.2% of usable memory, as predictions of megatron were off by that".
std::string margin_words(const predict::Scenario& scenario);

/// Three lines: the efficiencies with their mean error, why a job has them, and what plans leave.
std::string assumptions_text(const predict::Scenario& scenario);

/// How near a job comes to fitting of which no plan fits: "no plan fits; the nearest that was found misses 1.00 GiB in
/// actor_train".
std::string nearest_words(const planner::NearestPlan& nearest, const predict::Scenario& scenario);

}  // namespace dovetail::answer
