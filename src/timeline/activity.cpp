#include "timeline/activity.h"

#include <fmt/format.h>

#include "base/assert.h"

namespace dovetail::timeline {

std::string_view name_of(Activity activity) {
  if (is_op(activity)) return traits_of(activity).name;
  switch (activity) {
    case Activity::prefill:
      return "prefill";
    case Activity::decode:
      return "decode";
    case Activity::recompute:
      return "recompute";
    case Activity::migration:
      return "migration";
    case Activity::loading:
      return "loading";
    case Activity::score:
      return "score";
    case Activity::optimizer:
      return "optimizer";
    case Activity::reallocation:
      return "reallocation";
    case Activity::hand_over:
      return "hand-over";
    case Activity::work:
      return "work";
    case Activity::warm_up:
      return "warm-up";
    case Activity::tail:
      return "long tail";
    case Activity::dependency:
      return "dependency";
    case Activity::transfer:
      return "transfer";
    case Activity::delay:
      return "delay";
    case Activity::awaiting:
      return "new weights";
    case Activity::bubble:
      return "bubble";
    case Activity::imbalance:
      return "imbalance";
    case Activity::launch:
      return "launch";
    case Activity::drain:
      return "drain";
    case Activity::idle:
      return "idle";
    default:
      break;
  }
  DOVETAIL_ASSERT(false);
}

std::string describe(Activity activity, std::string_view whose) {
  const std::string_view name = name_of(activity);
  if (whose.empty()) return std::string(name);
  if (activity == Activity::dependency) return fmt::format("{} on {}", name, whose);
  if (activity == Activity::awaiting || activity == Activity::reallocation) return fmt::format("{} for {}", name, whose);
  return fmt::format("{} of {}", name, whose);
}

}  // namespace dovetail::timeline
