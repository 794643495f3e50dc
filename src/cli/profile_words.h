// Which seconds of a plan are of measured layers, in words and as JSON.
#pragma once

#include <string>
#include <vector>

#include "answer/question/json.h"
#include "cli/output.h"
#include "predict/closed_form/profile_use.h"

namespace dovetail::cli {

/// A line that names the measured layers and, for each way in which seconds are had, the tasks; empty where nothing is measured.
std::string profile_text(const plan::Job& job, const std::string& profile, const std::vector<predict::ProfileUse>& uses);
/// The same of a plan.
std::string profile_text(const predict::Scenario& scenario, const plan::Plan& plan);

/// The `profile` of dovetail/estimate@1.
answer::Json profile_json(const plan::Job& job, const std::string& profile, const std::vector<predict::ProfileUse>& uses);
/// Adds that of a plan to an object, where something is measured.
void add_profile(const predict::Scenario& scenario, const plan::Plan& plan, answer::Json& object);

}  // namespace dovetail::cli
