#include "timeline/timeline.h"

namespace dovetail::timeline {

std::string_view name_of(BarKind kind) {
  switch (kind) {
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
    default:
      return traits_of(kind).name;
  }
}

std::pair<base::Ticks, base::Memory> peak_of(const Counter& counter) {
  std::pair<base::Ticks, base::Memory> peak;
  for (const auto& step : counter.steps) {
    if (step.second > peak.second) peak = step;
  }
  return peak;
}

}  // namespace dovetail::timeline
