#include "timeline/bar_kind.h"

#include <fmt/core.h>

#include "base/assert.h"

namespace dovetail::timeline {

std::string_view name_of(BarKind bar_kind) {
  if (is_op(bar_kind)) return traits_of(bar_kind).name;
  switch (bar_kind) {
    case BarKind::prefill:
      return "prefill";
    case BarKind::decode:
      return "decode";
    case BarKind::recompute:
      return "recompute";
    case BarKind::migration:
      return "migration";
    case BarKind::loading:
      return "loading";
    case BarKind::infer:
      return "inference";
    case BarKind::optimizer:
      return "optimizer";
    case BarKind::reallocation:
      return "reallocation";
    case BarKind::hand_over:
      return "hand-over";
    case BarKind::work:
      return "work";
    case BarKind::warm_up:
      return "warm-up";
    case BarKind::tail:
      return "long tail";
    case BarKind::dependency:
      return "dependency";
    case BarKind::transfer:
      return "transfer";
    case BarKind::delay:
      return "delay";
    case BarKind::awaiting:
      return "new weights";
    case BarKind::bubble:
      return "bubble";
    case BarKind::imbalance:
      return "imbalance";
    case BarKind::launch:
      return "launch";
    case BarKind::drain:
      return "drain";
    case BarKind::idle:
      return "idle";
    default:
      break;
  }
  DOVETAIL_ASSERT(false);
}

std::string describe(BarKind bar_kind, std::string_view owner) {
  const std::string_view name = name_of(bar_kind);
  if (owner.empty()) return std::string(name);
  if (bar_kind == BarKind::dependency) return fmt::format("{} on {}", name, owner);
  if (bar_kind == BarKind::awaiting || bar_kind == BarKind::reallocation) return fmt::format("{} for {}", name, owner);
  return fmt::format("{} of {}", name, owner);
}

}  // namespace dovetail::timeline
