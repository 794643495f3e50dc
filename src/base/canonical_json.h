// The one form of a JSON value that hashes are taken of: RFC 8785 (JSON Canonicalization Scheme).
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"

namespace dovetail::base {

/// `value` without white space, the keys of each map in order, strings with the least escapes, each number as
/// ECMAScript writes the double nearest to it. `left_out` is a key of `value` itself, not of what is in it, that is
/// passed over. Keys are sorted by their bytes, which is RFC 8785's order (by UTF-16 units) for all but keys beyond
/// U+FFFF, and our formats have only ASCII ones.
std::string canonical_json(const Node& value, std::string_view left_out = {});

/// The same of `json`. REQUIRES: it is JSON.
std::string canonical_json(std::string_view json);

}  // namespace dovetail::base
