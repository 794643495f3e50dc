// Efficiencies that were fitted to measurements: published ones, and those of our own runs.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "cost/efficiency.h"

namespace dovetail::cost {

/// "GPU/software": what find_efficiency knows, and "assumed", the defaults.
std::vector<std::string_view> efficiency_names();

/// The set of that name; an Error that says the nearest and all that are accepted where there is none. Values are what
/// the command `dovetail_accuracy` (bench/accuracy.cpp) prints, which fits them anew, and `dovetail calibrate` of the
/// rows of our own runs; docs/accuracy.md says to which rows and how well.
base::Result<Efficiency> find_efficiency(std::string_view name);

/// What a set was fitted to that stands for whoever has the same.
struct FittedTo {
  std::string_view efficiency;             ///< the name of the set
  std::string_view gpu;                    ///< the name of a GPU
  std::vector<std::string_view> training;  ///< names of conventions
  /// It stands for such training on every GPU, and for no other training on its own.
  bool is_for_any_gpu = false;
};
/// The set that stands for a GPU of that name and for such conventions; null where none does. ReaL's runtime stands for
/// itself alone: its set is for who names it.
const FittedTo* fitted_to(std::string_view gpu, std::string_view conventions);

}  // namespace dovetail::cost
