// --cap: where responses end that have grown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "plan/job.h"

namespace dovetail::answer {

/// "keep": the longest response of the job, "scale": none, else a number of tokens; an Error that says so for what is
/// none of these.
base::Result<std::optional<std::int64_t>> parse_length_cap(const std::string& text, const plan::Job& job);

}  // namespace dovetail::answer
