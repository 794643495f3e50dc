// Which seconds of a plan are of measured layers, in words.
#pragma once

#include <string>
#include <vector>

#include "predict/closed_form/profile_use.h"

namespace dovetail::answer {

/// A line that names the measured layers and, for each way in which seconds are had, the tasks; empty where nothing is
/// measured.
std::string profile_text(const plan::Job& job, const std::string& profile,
                         const std::vector<predict::ProfileUse>& uses);
/// The same of a plan.
std::string profile_text(const predict::Scenario& scenario, const plan::Plan& plan);

}  // namespace dovetail::answer
