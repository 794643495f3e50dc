// Efficiencies that were fitted to published measurements.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "cost/efficiency.h"

namespace dovetail::cost {

/// "GPU/software": what find_efficiency knows, and "assumed", the defaults.
std::vector<std::string_view> efficiency_names();

/// The set of that name; an Error that says the nearest and all that are accepted where there is none. Values are what
/// the command `dovetail_accuracy` (bench/accuracy.cpp) prints, which fits them anew; docs/accuracy.md says to which
/// rows and how well.
base::Result<Efficiency> find_efficiency(std::string_view name);

/// What a set was fitted to that stands for whoever has the same.
struct FittedTo {
  std::string_view efficiency;             ///< the name of the set
  std::string_view gpu;                    ///< the name of a bundled GPU
  std::vector<std::string_view> training;  ///< names of conventions
};
/// The set that was fitted to a GPU of that name; null where none was. ReaL's runtime stands for itself alone: its set
/// is for who names it.
const FittedTo* fitted_to(std::string_view gpu);

}  // namespace dovetail::cost
