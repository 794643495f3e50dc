// --cap: limit of grown responses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "plan/job.h"

namespace dovetail::answer {

/// Parses "keep" (the job's longest response), "scale" (nullopt: no cap) or a number of tokens; otherwise an Error.
base::Result<std::optional<std::int64_t>> parse_length_cap(const std::string& text, const plan::Job& job);

}  // namespace dovetail::answer
