#include "predict/closed_form/margin.h"

#include <algorithm>

#include "base/assert.h"

namespace dovetail::predict {

plan::MinMargin min_margin(const Scenario& scenario) {
  if (scenario.job.limits.margin) return *scenario.job.limits.margin;
  return {std::max(min_margin_share, scenario.software.conventions.memory_error), 0};
}

std::int64_t plan_memory(const Scenario& scenario, const cluster::Gpu& gpu) {
  return gpu.usable_memory - min_margin(scenario).of(gpu.usable_memory);
}

std::string_view name_of(Fit fit) {
  switch (fit) {
    case Fit::fits:
      return "fits";
    case Fit::tight:
      return "tight";
    case Fit::does_not_fit:
      return "does not fit";
  }
  DOVETAIL_ASSERT(false);
}

}  // namespace dovetail::predict
