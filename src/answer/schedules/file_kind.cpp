#include "answer/schedules/file_kind.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/utf8.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem_file.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::answer {
namespace {

/// Bytes that are inspected to recognize a file. Every format names itself near its start.
constexpr std::size_t looked_through = 4096;

}  // namespace

std::optional<std::string> describe_other_content(std::string_view content, const std::string& path) {
  const std::string_view start = base::without_byte_order_mark(content).substr(0, looked_through);
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  if (start.find("\"dovetail/pareto@1\"") != std::string_view::npos) {
    return "this is a Pareto front of several schedules; write one of them with: dovetail schedule PROBLEM --objective "
           "pareto --pick N -o FILE";
  }
  if (start.find(pipeline::problem_format) < start.find(pipeline::schedule_format)) {
    return fmt::format("this is a problem, not a schedule; create one with: dovetail schedule {}", path);
  }
  if (timeline::is_chrome_trace(content)) {
    return fmt::format(
        "this is a Chrome trace, not a schedule; accepted: json, trace, csv (dovetail report {} displays the trace)",
        path);
  }
  if (start[first] == '<' && start.find("<svg") != std::string_view::npos) {
    return "this is an SVG picture, which cannot be read; accepted: json, trace, csv";
  }
  return std::nullopt;
}

std::string named_format(std::string_view content) {
  constexpr std::string_view key = "format";
  constexpr std::string_view own = "dovetail/";
  // Small files are parsed completely, because comments and other keys may come first.
  constexpr std::size_t small = 1 << 20;
  if (content.size() <= small) {
    const auto document = base::parse_yaml_or_json(content, "");
    const auto named = document.ok() && document->root().is_map() ? document->root().find(key) : std::nullopt;
    if (named && named->is_string() && named->text().starts_with(own))
      return std::string(named->text().substr(0, named->text().find('@')));
    if (named) return {};
  }
  const std::string_view start = content.substr(0, looked_through);
  for (std::size_t at = start.find(key); at != std::string_view::npos; at = start.find(key, at + 1)) {
    const std::size_t value = start.find_first_not_of(" \t'\":", at + key.size());
    if (value == std::string_view::npos || start.substr(value, own.size()) != own) continue;
    return std::string(start.substr(value, start.find_first_of("@'\", \t\r\n}", value) - value));
  }
  return {};
}

bool is_own_schedule(std::string_view content) {
  const std::string_view start = content.substr(0, looked_through);
  return start.find(pipeline::schedule_format) < start.find(pipeline::problem_format);
}

}  // namespace dovetail::answer
