// Durations in command-line options.
#pragma once

#include <string_view>

#include "base/result.h"

namespace dovetail::answer {

/// Parses a duration into seconds, more than 0 and at most 1e7: a number of seconds ("30"), or a number with the unit
/// ns, us, ms, s, m, min or h ("500ms"). The Error has only a message.
base::Result<double> parse_seconds(std::string_view text);

}  // namespace dovetail::answer
