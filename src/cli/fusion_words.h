// What a plan fuses, in words and as JSON.
#pragma once

#include <string>

#include "answer/question/json.h"
#include "cli/output.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::cli {

/// A line for each fusion of the estimate, with the seconds that it takes and those without it; empty where nothing is fused.
std::string fusion_text(const plan::Job& job, const predict::Estimate& estimate);
/// The `fusion` of dovetail/estimate@1 and dovetail/ranking@1. REQUIRES: something is fused.
answer::Json fusion_json(const plan::Job& job, const predict::Estimate& estimate);

}  // namespace dovetail::cli
