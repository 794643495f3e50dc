// The configuration that a trainer prints as YAML at the head of its log.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dovetail::trainers {

/// A log without what is not of the YAML around the first line that begins with `key:`: all other lines are empty, so
/// that places are those of the log. Such YAML has no empty lines, and members of the whole at the beginning of lines.
/// Nothing where no line begins so, or none behind it is one of a log ("[2026-02-03 10:00:00] [pipeline.py (838)]
/// [INFO]
/// ..."): then the file may be a configuration itself.
std::optional<std::string> yaml_of_log(std::string_view content, std::string_view key);

}  // namespace dovetail::trainers
