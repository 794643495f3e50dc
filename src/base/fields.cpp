#include "base/fields.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "base/utf8.h"

namespace dovetail::base {

bool is_name(std::string_view text) { return !text.empty() && !has_controls(text); }

Result<std::string> read_name(const Node& node, std::string_view key) {
  std::string name(node.is_string() ? node.text() : "");
  if (!is_name(name)) return node.error(fmt::format("{} is {}; accepted: a name", quote(key), node.describe()));
  return name;
}

Result<std::string> read_text(const Node& node, std::string_view what) {
  if (node.is_string() && !node.text().empty()) return std::string(node.text());
  return node.error(
      fmt::format("{} is {}; accepted: a text", what, node.is_string() ? std::string("empty") : node.describe()));
}

Result<std::string> find_name(const Node& map, std::string_view key) {
  const auto node = map.find(key);
  return node ? read_name(*node, key) : std::string();
}

Status require_format(const Node& map, std::string_view what, std::string_view format) {
  DOVETAIL_TRY(const Node value, require(map, what, "format", fmt::format("`format: {}`", format)));
  if (value.is_string() && value.text() == format) return {};
  return value.error(fmt::format("`format` is {}; accepted: {}", value.describe(), quote(format)));
}

Result<bool> read_flag(const Node& node, std::string_view key) {
  if (!node.is_boolean())
    return node.error(fmt::format("{} is {}; accepted: true or false", quote(key), node.describe()));
  return node.text() == "true";
}

Result<double> read_number(const Node& node, std::string_view what, double least, double most) {
  const auto error = [&] {
    return node.error(fmt::format("{} must be a number from {} to {}, not {}", what, least, most, node.describe()));
  };
  if (!node.is_number()) return error();
  std::string_view text = node.text();
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) return error();
  return value;
}

Result<Ticks> read_seconds(const Node& node, std::string_view what) {
  if (!node.is_number())
    return node.error(fmt::format("{} is {}; accepted: a number of seconds", what, node.describe()));
  const Result<Ticks> time = parse_time(node.text(), TimeUnit::s, FineDigits::round_half_up);
  if (!time.ok()) return node.error(fmt::format("{}: {} {}", what, node.describe(), time.error().message));
  return *time;
}

}  // namespace dovetail::base
