// Seconds and bytes as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "base/quantity.h"

namespace dovetail::answer {

/// "12.3 s", "2.1 ms", "124 s": three digits or so.
std::string seconds_text(double seconds);

/// What is more or less: "+1.2 s", "-3 ms"; "0" below half a millisecond.
std::string signed_seconds(double seconds);

/// "78.40 GiB"; what would be 0.00 of them in smaller units, so that nothing that is missing looks like nothing.
std::string gibibytes(std::int64_t bytes);

}  // namespace dovetail::answer
