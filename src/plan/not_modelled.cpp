#include "plan/not_modelled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/fields.h"
#include "base/json_object.h"
#include "base/utf8.h"

namespace dovetail::plan {
namespace {

base::Result<NotModelled> read_setting(const base::Node& node) {
  constexpr std::string_view whole = "an item of `not_modelled`";
  DOVETAIL_CHECK(base::check_keys(node, whole, {"key", "what"}));
  NotModelled setting;
  if (const auto key = node.find("key")) {
    DOVETAIL_TRY(setting.key, base::read_name(*key, "key"));
  }
  DOVETAIL_TRY(const base::Node what, base::require(node, whole, "what", "what: \"fp8: counted as bf16\""));
  DOVETAIL_TRY(setting.what, base::read_name(what, "what"));
  return setting;
}

}  // namespace

std::string to_text(const NotModelled& setting) {
  return setting.key.empty() ? setting.what : fmt::format("{}: {}", setting.key, setting.what);
}

std::vector<NotModelled> joined(std::vector<NotModelled> first, const std::vector<NotModelled>& second) {
  for (const NotModelled& setting : second)
    if (std::find(first.begin(), first.end(), setting) == first.end()) first.push_back(setting);
  return first;
}

base::Result<std::vector<NotModelled>> read_not_modelled(const base::Node& node) {
  if (!node.is_list())
    return node.error(
        fmt::format("`not_modelled` is {}; accepted: a list of maps with the keys `key` and `what`", node.describe()));
  std::vector<NotModelled> settings;
  for (std::size_t index = 0; index < node.size(); ++index) {
    DOVETAIL_TRY(NotModelled setting, read_setting(node.item(index)));
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::string not_modelled_json(const std::vector<NotModelled>& settings) {
  std::vector<std::string> items;
  for (const NotModelled& setting : settings) {
    base::JsonObject item;
    if (!setting.key.empty()) item.add("key", base::json_string(setting.key));
    item.add("what", base::json_string(setting.what));
    items.push_back("  " + item.text());
  }
  return fmt::format("[\n{}\n]", fmt::join(items, ",\n"));
}

}  // namespace dovetail::plan
