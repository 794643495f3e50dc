// Hashes that name a content: SHA-256 (FIPS 180-4).
#pragma once

#include <string>
#include <string_view>

namespace dovetail::base {

/// The SHA-256 of the bytes, as 64 hexadecimal digits in lower case.
std::string sha256_hex(std::string_view bytes);

/// Whether `text` has the form of what sha256_hex returns.
bool is_sha256_hex(std::string_view text);

}  // namespace dovetail::base
