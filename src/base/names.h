// Names in files: of models, plans, profiles and their like, for messages and tables.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::base {

/// The text of `node`, the value of `key`; an Error at it where it is no text, empty, or has control characters.
Result<std::string> read_name(const Node& node, std::string_view key);

/// The name at `key` of a map; empty where it is not there.
Result<std::string> find_name(const Node& map, std::string_view key);

}  // namespace dovetail::base
