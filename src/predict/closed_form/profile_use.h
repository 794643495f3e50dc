// Whether the times of a plan's tasks come from measured layers or from the roofline model.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {

/// Source of the times of layers.
enum class SecondsFrom {
  roofline,  ///< no measurement for the model, GPU and layout
  profile,   ///< interpolated between measured points
  beyond,    ///< extrapolated from the nearest measured point along the roofline
};

/// Returns "roofline", "profile" or "profile, beyond its range".
std::string_view name_of(SecondsFrom from);

struct ProfileUse {
  std::size_t task = 0;
  /// True: decode steps of generation. False: prefill of generation, or passes of inference or training.
  bool decode = false;
  SecondsFrom from = SecondsFrom::roofline;
};

/// Returns the source of the times of each task with a model: two entries for generation, one for other tasks. Profiles
/// are looked up at the token count of the average micro-batch. For prefill, the token count is an instance's prompt
/// tokens, divided by its number of pipeline stages. For decoding, the batch is an instance's largest, and the context
/// is the mean prompt plus half of the mean response. Empty if the job has no profile.
std::vector<ProfileUse> profile_uses(const Scenario& scenario, const plan::Plan& plan);

}  // namespace dovetail::predict
