#include "answer/schedules/schedule_format.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "answer/words/figures.h"
#include "base/utf8.h"

namespace dovetail::answer {

base::Error unknown_format(std::string_view name, const std::vector<std::string_view>& accepted) {
  return base::bad_input(
      fmt::format("'{}' is not a schedule format{}", name, hint_and_list(name, "accepted:", accepted)));
}

base::Result<std::optional<ScheduleFormat>> format_to_read(const std::optional<std::string>& name) {
  if (!name) return std::optional<ScheduleFormat>();
  const auto format = base::enum_named<ScheduleFormat>(*name);
  if (!format) return unknown_format(*name, {"json", "trace", "csv"});
  if (*format == ScheduleFormat::chrome || *format == ScheduleFormat::svg)
    return base::bad_input(fmt::format("{} files can be written, but not read; accepted: json, trace, csv", *name));
  // Both kinds of CSV are read by the same parser.
  return *format == ScheduleFormat::csv_comms ? ScheduleFormat::csv : format;
}

std::optional<ScheduleFormat> format_of_content(std::string_view content) {
  const std::string_view text = base::without_byte_order_mark(content);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  const char letter = text[first];
  if (letter == '{') return ScheduleFormat::json;
  if (letter == '[') return ScheduleFormat::trace;
  const bool starts_csv = (letter >= '0' && letter <= '9') || letter == ',' || letter == '(' || letter == '"';
  return starts_csv ? std::optional(ScheduleFormat::csv) : std::nullopt;
}

}  // namespace dovetail::answer
