#include "timeline/timeline.h"

#include "base/assert.h"

namespace dovetail::timeline {

bool is_idle(BarKind kind) { return kind >= BarKind::warm_up; }

std::string_view name_of(BarKind kind) {
  switch (kind) {
    case BarKind::forward:
      return "forward";
    case BarKind::backward:
      return "backward";
    case BarKind::input_gradient:
      return "input gradient";
    case BarKind::weight_gradient:
      return "weight gradient";
    case BarKind::step:
      return "step";
    case BarKind::warm_up:
      return "warm-up";
    case BarKind::dependency:
      return "dependency";
    case BarKind::transfer:
      return "transfer";
    case BarKind::delay:
      return "delay";
    case BarKind::drain:
      return "drain";
  }
  DOVETAIL_ASSERT(false);
}

std::pair<base::Ticks, base::Memory> peak_of(const Counter& counter) {
  std::pair<base::Ticks, base::Memory> peak;
  for (const auto& step : counter.steps) {
    if (step.second > peak.second) peak = step;
  }
  return peak;
}

}  // namespace dovetail::timeline
