// Values that the files of several rooms have: their format, names, numbers.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/quantity.h"
#include "base/result.h"

namespace dovetail::base {

/// Whether the value of `format` is `format`; else an Error there. Asked before all other keys: a file of another kind
/// is told by it. `what` names the file in messages ("a job").
Status require_format(const Node& map, std::string_view what, std::string_view format);

/// Whether a text can be a name: not empty, and without what a terminal would obey (has_controls).
bool is_name(std::string_view text);

/// The text of `node`, the value of `key`; an Error at it where it is no text, empty, or has control characters.
Result<std::string> read_name(const Node& node, std::string_view key);

/// A text that is not empty; else an Error at `node` that names `what`.
Result<std::string> read_text(const Node& node, std::string_view what);

/// The name at `key` of a map; empty where it is not there.
Result<std::string> find_name(const Node& map, std::string_view key);

/// The value of `key`, true or false; else an Error at it.
Result<bool> read_flag(const Node& node, std::string_view key);

/// A number in [least, most], to the nearest double; else an Error at `node` that names `what` and the range.
Result<double> read_number(const Node& node, std::string_view what, double least, double most);

/// A number of seconds, to the nearest nanosecond; else an Error at `node` that names `what`.
Result<Ticks> read_seconds(const Node& node, std::string_view what);

}  // namespace dovetail::base
