#include "timeline/activity.h"

#include <fmt/format.h>

#include "base/assert.h"

namespace dovetail::timeline {

bool is_idle(Activity activity) { return activity >= Activity::warm_up; }

std::string_view name_of(Activity activity) {
  static constexpr std::array<std::string_view, activities> names{
      "prefill",         "decode", "recompute",   "migration",    "loading",   "score",  "forward", "backward",  "input gradient",
      "weight gradient", "step",   "optimizer",   "reallocation", "hand-over", "work",   "warm-up", "long tail", "dependency",
      "transfer",        "delay",  "new weights", "bubble",       "imbalance", "launch", "drain",   "idle"};
  return names[index_of(activity)];
}

char letter_of(Activity op) {
  DOVETAIL_ASSERT(op >= Activity::forward && op <= Activity::step);
  return "FBIWS"[index_of(op) - index_of(Activity::forward)];
}

std::string describe(Activity activity, std::string_view whose) {
  const std::string_view name = name_of(activity);
  if (whose.empty()) return std::string(name);
  if (activity == Activity::dependency) return fmt::format("{} on {}", name, whose);
  if (activity == Activity::awaiting || activity == Activity::reallocation) return fmt::format("{} for {}", name, whose);
  return fmt::format("{} of {}", name, whose);
}

}  // namespace dovetail::timeline
