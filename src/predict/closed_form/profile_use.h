// Which seconds of a plan's tasks come from measured layers, and which from the roofline.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {

enum class SecondsFrom {
  roofline,  ///< nothing was measured of this model, GPU and degree
  profile,   ///< read between measured points
  beyond,    ///< from the nearest measured point on as the roofline goes
};

/// "roofline", "profile" or "profile, beyond its range".
std::string_view name_of(SecondsFrom from);

struct ProfileUse {
  std::size_t task = 0;
  bool decode = false;  ///< a generation's decode steps; else its prefill, or the passes of an inference or training
  SecondsFrom from = SecondsFrom::roofline;
};

/// Of each task with a model; of generation twice. A table is entered at the average micro-batch, in decoding at the
/// largest batch that the engine takes and at half of the average response. Nothing where the job has no profile.
std::vector<ProfileUse> profile_uses(const Scenario& scenario, const plan::Plan& plan);

}  // namespace dovetail::predict
