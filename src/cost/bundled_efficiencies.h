// Efficiencies that were fitted to published measurements.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "cost/efficiency.h"

namespace dovetail::cost {

/// "GPU/software": what find_efficiency knows, and "assumed", the defaults.
std::vector<std::string_view> efficiency_names();

/// The set of that name; an Error that says the nearest and all that are accepted where there is none. Values are what the command
/// `dovetail_accuracy` (bench/accuracy.cpp) prints, which fits them anew; docs/accuracy.md says to which rows and how well.
base::Result<Efficiency> find_efficiency(std::string_view name);

}  // namespace dovetail::cost
