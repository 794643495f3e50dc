// Formats seconds and bytes for people.
#pragma once

#include <cstdint>
#include <string>

#include "base/quantity.h"

namespace dovetail::answer {

/// "12.3 s", "2.1 ms", "124 s": about three significant digits.
std::string seconds_text(double seconds);

/// A signed change: "+1.2 s", "-3.0 ms"; "0" below half a millisecond.
std::string signed_seconds(double seconds);

/// "78.40 GiB". Amounts that would print as 0.00 GiB use MiB or bytes, so that only zero looks like zero.
std::string gibibytes(std::int64_t bytes);

}  // namespace dovetail::answer
