// What bars have beside their times, as the page shows it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/timeline.h"

namespace dovetail::report {

struct Field {
  enum class Kind : std::uint8_t { number, time, text };
  std::string_view name;
  Kind kind;
  /// A number, ticks, or an index of the texts; -1: this bar has none.
  std::int64_t (*value)(const timeline::Timeline& timeline, const timeline::Bar& bar);
  /// Of Kind::text: what the values stand for.
  std::vector<std::string> (*texts)(const timeline::Timeline& timeline) = nullptr;
};

/// All that a bar may have, in the order in which it is shown.
const std::array<Field, 7>& bar_fields();

}  // namespace dovetail::report
