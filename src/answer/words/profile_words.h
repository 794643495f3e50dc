// Describes which predicted seconds come from measured layers.
#pragma once

#include <string>
#include <vector>

#include "predict/closed_form/profile_use.h"

namespace dovetail::answer {

/// Line that names the layer profile and, per source of seconds, the tasks; empty if nothing is measured.
std::string profile_text(const plan::Job& job, const std::string& profile,
                         const std::vector<predict::ProfileUse>& uses);
/// The same for the tasks of `plan`.
std::string profile_text(const predict::Scenario& scenario, const plan::Plan& plan);

}  // namespace dovetail::answer
