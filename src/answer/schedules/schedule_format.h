// The formats of schedules: their names, how to tell them, and which can be read.
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

/// The formats that can be read ("json|trace|...").
inline constexpr const char* read_formats = "json|trace|csv";

/// That there is no format of this name; `accepted` are those that there are.
base::Error unknown_format(std::string_view name, const std::vector<std::string_view>& accepted);

/// The format of that name for reading, if one is given; an Error that lists those that can be read.
base::Result<std::optional<ScheduleFormat>> format_to_read(const std::optional<std::string>& name);

/// The format that `content` looks like, behind a byte order mark where it has one: JSON starts with a brace, a trace
/// with a bracket, a CSV with a digit, a comma (an empty cell) or a parenthesis.
std::optional<ScheduleFormat> format_of_content(std::string_view content);

}  // namespace dovetail::answer
