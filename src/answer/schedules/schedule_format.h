// Formats of schedules: names, detection, and which ones can be read.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"

namespace dovetail::answer {

enum class ScheduleFormat { json, trace, chrome, svg, csv, csv_comms, programs };

constexpr auto names_of(ScheduleFormat) {
  return std::array{
      base::EnumName{"json", ScheduleFormat::json},        base::EnumName{"trace", ScheduleFormat::trace},
      base::EnumName{"chrome", ScheduleFormat::chrome},    base::EnumName{"svg", ScheduleFormat::svg},
      base::EnumName{"csv", ScheduleFormat::csv},          base::EnumName{"csv-comms", ScheduleFormat::csv_comms},
      base::EnumName{"programs", ScheduleFormat::programs}};
}

/// Formats that can be read.
inline constexpr const char* read_formats = "json|trace|csv";

/// Error for an unknown format name; lists `accepted`.
base::Error unknown_format(std::string_view name, const std::vector<std::string_view>& accepted);

/// Returns the format named for reading; nullopt if no name is given. An Error lists the readable formats.
base::Result<std::optional<ScheduleFormat>> format_to_read(const std::optional<std::string>& name);

/// Detects the format of `content` by its first character: JSON by a brace, a trace by a bracket, CSV by a digit, a
/// quote, a comma (an empty cell) or a parenthesis. A byte order mark is skipped.
std::optional<ScheduleFormat> format_of_content(std::string_view content);

}  // namespace dovetail::answer
