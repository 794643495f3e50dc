// Describes the fusions of a plan.
#pragma once

#include <string>

#include "predict/closed_form/estimate.h"

namespace dovetail::answer {

/// Returns a line per fusion of the estimate, with its seconds and the seconds without it; empty if nothing is fused.
std::string fusion_text(const plan::Job& job, const predict::Estimate& estimate);
}  // namespace dovetail::answer
