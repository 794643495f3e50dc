#include "base/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/amount.h"
#include "base/utf8.h"

namespace dovetail::base {

bool is_name(std::string_view text) { return !text.empty() && !has_controls(text); }

Result<std::string> read_name(const Node& node, std::string_view key) {
  std::string name(node.is_string() ? node.text() : "");
  if (!is_name(name))
    return node.error(
        fmt::format("{} is {}; accepted: a non-empty string without control characters", quote(key), node.describe()));
  return name;
}

Result<std::string> read_text(const Node& node, std::string_view what) {
  if (node.is_string() && !node.text().empty()) return std::string(node.text());
  return node.error(fmt::format("{} is {}; accepted: a non-empty string", what,
                                node.is_string() ? std::string("empty") : node.describe()));
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

Result<double> read_number(const Node& node, std::string_view what, double min, double max) {
  const auto error = [&] {
    return node.error(fmt::format("{} must be a number from {} to {}, not {}", what, min, max, node.describe()));
  };
  if (!node.is_number()) return error();
  std::string_view text = node.text();
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !(value >= min && value <= max)) return error();
  return value;
}

Result<Ticks> read_seconds(const Node& node, std::string_view what) {
  if (!node.is_number())
    return node.error(fmt::format("{} is {}; accepted: a number of seconds", what, node.describe()));
  const Result<Ticks> time = parse_time(node.text(), TimeUnit::s, ExcessDigits::round_half_up);
  if (!time.ok()) return node.error(fmt::format("{}: {} {}", what, node.describe(), time.error().message));
  return *time;
}

Error without_companion(const Node& node, std::string_view key, std::string_view only_with) {
  return node.error(fmt::format("{} is accepted only with {}", quote(key), only_with));
}

Result<std::vector<std::string_view>> read_names(const Node& node, std::string_view key,
                                                 const std::vector<std::string_view>& accepted) {
  const std::string list = fmt::format("accepted: a list with any of {}", fmt::join(accepted, ", "));
  if (!node.is_list()) return node.error(fmt::format("{} is {}; {}", quote(key), node.describe(), list));
  std::vector<std::string_view> names;
  for (std::size_t index = 0; index < node.size(); ++index) {
    const Node item = node.item(index);
    if (!item.is_string() || std::find(accepted.begin(), accepted.end(), item.text()) == accepted.end())
      return item.error(fmt::format("an item of {} is {}; {}", quote(key), item.describe(), list));
    if (std::find(names.begin(), names.end(), item.text()) != names.end())
      return item.error(
          fmt::format("{} appears twice in {}; accepted: each name once", quote(item.text()), quote(key)));
    names.push_back(item.text());
  }
  return names;
}

std::string phrase(std::string_view pattern, std::string_view key, std::string_view text) {
  const std::size_t gap = pattern.find("{}");
  if (pattern.empty()) return fmt::format("{} {}", key, text);
  if (gap == std::string_view::npos) return std::string(pattern);
  return fmt::format("{}{}{}", pattern.substr(0, gap), text, pattern.substr(gap + 2));
}

Status read_value(const Node& node, std::string_view key, const Number& kind, double& value) {
  DOVETAIL_TRY(value, read_number(node, quote(key), kind.min, kind.max));
  return {};
}

Status read_value(const Node& node, std::string_view key, Flag, bool& value) {
  DOVETAIL_TRY(value, read_flag(node, key));
  return {};
}

Status read_value(const Node& node, std::string_view key, const IntegerList& kind, std::vector<int>& value) {
  if (!node.is_list())
    return node.error(fmt::format("{} is {}; accepted: a list of integers", quote(key), node.describe()));
  value.clear();
  for (std::size_t item = 0; item < node.size(); ++item) {
    DOVETAIL_TRY(const std::int64_t integer, read_integer(node.item(item), kind.each, kind.min, kind.max));
    value.push_back(static_cast<int>(integer));
  }
  return {};
}

Status read_value(const Node& node, std::string_view key, Seconds, Ticks& value) {
  DOVETAIL_TRY(value, read_seconds(node, quote(key)));
  return {};
}

Status read_value(const Node& node, std::string_view key, Duration, double& value) {
  DOVETAIL_TRY(value, read_amount(node, quote(key), Measure::time, Zero::rejected));
  return {};
}

Status read_value(const Node& node, std::string_view key, const NumberList& kind, std::vector<double>& value) {
  if (!node.is_list() || node.size() != kind.count)
    return node.error(fmt::format("{} is {}; accepted: a list of {} numbers", quote(key),
                                  node.is_list() ? fmt::format("a list of {}", node.size()) : node.describe(),
                                  kind.count));
  value.clear();
  for (std::size_t item = 0; item < node.size(); ++item) {
    DOVETAIL_TRY(const double number, read_number(node.item(item), kind.each, kind.min, kind.max));
    value.push_back(number);
  }
  return {};
}

Status read_value(const Node& node, std::string_view key, const OptionalNumber& kind, std::optional<double>& value) {
  value.reset();
  if (node.is_string() && node.text() == "none") return {};
  if (!node.is_number())
    return node.error(fmt::format("{} is {}; accepted: a number from {} to {}, or `none`", quote(key), node.describe(),
                                  kind.min, kind.max));
  DOVETAIL_TRY(value, read_number(node, quote(key), kind.min, kind.max));
  return {};
}

Status read_value(const Node& node, std::string_view key, Text, std::string& value) {
  DOVETAIL_TRY(value, read_text(node, quote(key)));
  return {};
}

Status read_value(const Node& node, std::string_view key, const TextList& kind, std::vector<std::string>& value) {
  if (!node.is_list())
    return node.error(fmt::format("{} is {}; accepted: a list of strings", quote(key), node.describe()));
  value.clear();
  for (std::size_t item = 0; item < node.size(); ++item) {
    DOVETAIL_TRY(std::string text, read_text(node.item(item), kind.each));
    value.push_back(std::move(text));
  }
  return {};
}

Status read_value(const Node& node, std::string_view key, Name, std::string& value) {
  DOVETAIL_TRY(value, read_name(node, key));
  return {};
}

std::string json_of(const Integer&, std::int64_t value) { return std::to_string(value); }
std::string json_of(const Integer&, double value) { return fmt::format("{}", value); }
std::string json_of(const Number&, double value) { return fmt::format("{}", value); }
std::string json_of(Flag, bool value) { return value ? "true" : "false"; }
std::string json_of(const IntegerList&, const std::vector<int>& value) {
  return fmt::format("[{}]", fmt::join(value, ", "));
}
std::string json_of(Seconds, Ticks value) { return format_time(value, TimeUnit::s); }
std::string json_of(Duration, double value) { return fmt::format("{}", value); }
std::string json_of(const NumberList&, const std::vector<double>& value) {
  return fmt::format("[{}]", fmt::join(value, ", "));
}
std::string json_of(const OptionalNumber&, std::optional<double> value) {
  return value ? fmt::format("{}", *value) : "\"none\"";
}
std::string json_of(Text, const std::string& value) { return json_string(value); }
std::string json_of(const TextList&, const std::vector<std::string>& value) {
  std::string items;
  for (const std::string& each : value) items += (items.empty() ? "" : ", ") + json_string(each);
  return "[" + items + "]";
}
std::string json_of(Name, const std::string& value) { return json_string(value); }

std::optional<std::string> out_of_range(std::string_view what, std::int64_t value, const Integer& kind) {
  if (value >= kind.min && value <= kind.max) return std::nullopt;
  return fmt::format("{} is {}; accepted: {} to {}", what, value, kind.min, kind.max);
}

std::optional<std::string> out_of_range(std::string_view what, double value, const Number& kind) {
  if (value >= kind.min && value <= kind.max) return std::nullopt;
  return fmt::format("{} is {}; accepted: {} to {}", what, value, kind.min, kind.max);
}

}  // namespace dovetail::base
