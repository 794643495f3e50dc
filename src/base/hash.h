// Content hashes: SHA-256 (FIPS 180-4) and the canonical JSON form that is hashed (RFC 8785).
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"

namespace dovetail::base {

/// Returns the SHA-256 of the bytes as 64 lowercase hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// Whether `text` has the form that sha256_hex returns.
bool is_sha256_hex(std::string_view text);

/// Returns `value` in canonical form (RFC 8785, JSON Canonicalization Scheme): no white space, sorted keys, minimal
/// escapes, numbers formatted as ECMAScript formats the nearest double. Omits the top-level key `left_out`, if one is
/// given. Keys are sorted by bytes. This equals RFC 8785's UTF-16 order except for keys beyond U+FFFF; Dovetail's
/// formats use only ASCII keys.
std::string canonical_json(const Node& value, std::string_view left_out = {});

/// Returns the canonical form of `json`. REQUIRES: `json` is valid JSON.
std::string canonical_json(std::string_view json);

}  // namespace dovetail::base
