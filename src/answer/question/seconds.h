// Times as people write them in options.
#pragma once

#include <string_view>

#include "base/result.h"

namespace dovetail::answer {

/// Seconds of "30", "500ms", "30s", "2m", "1h": above 0, up to 1e7. The Error has a message only.
base::Result<double> parse_seconds(std::string_view text);

}  // namespace dovetail::answer
