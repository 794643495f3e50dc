// What a plan fuses, in words.
#pragma once

#include <string>

#include "predict/closed_form/estimate.h"

namespace dovetail::answer {

/// A line for each fusion of the estimate, with the seconds that it takes and those without it; empty where nothing is
/// fused.
std::string fusion_text(const plan::Job& job, const predict::Estimate& estimate);
}  // namespace dovetail::answer
