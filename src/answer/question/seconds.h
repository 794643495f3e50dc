// Durations in command-line options.
#pragma once

#include <string_view>

#include "base/result.h"

namespace dovetail::answer {

/// Parses "30", "500ms", "30s", "2m", "1h" into seconds: more than 0, at most 1e7. The Error has only a message.
base::Result<double> parse_seconds(std::string_view text);

}  // namespace dovetail::answer
