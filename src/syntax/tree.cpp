#include "syntax/tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/quantity.h"
#include "base/utf8.h"

namespace dovetail::syntax {
namespace {

using SettingKind = Setting::Kind;

/// Maximum number of values in one file. Each use of an alias counts.
constexpr std::size_t max_settings = 100'000;

std::optional<std::size_t> index_of(const Setting& list, std::string_view name) {
  std::size_t index = 0;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (fault != std::errc() || end != name.data() + name.size() || index >= list.items.size()) return std::nullopt;
  return index;
}

const Setting* child_of(const Setting& parent, std::string_view name) {
  if (parent.kind == SettingKind::map) return find_member(parent, name);
  if (parent.kind != SettingKind::list) return nullptr;
  const std::optional<std::size_t> index = index_of(parent, name);
  return index ? &parent.items[*index] : nullptr;
}

/// Returns the boolean value of a plain scalar in YAML 1.1, where `yes` and `on` are booleans, or nullopt.
std::optional<bool> yaml_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 9> yes{"yes", "Yes", "YES", "on", "On", "ON", "True", "TRUE", "true"};
  constexpr std::array<std::string_view, 9> no{"no", "No", "NO", "off", "Off", "OFF", "False", "FALSE", "false"};
  if (std::find(yes.begin(), yes.end(), text) != yes.end()) return true;
  if (std::find(no.begin(), no.end(), text) != no.end()) return false;
  return std::nullopt;
}

std::string without_underscores(std::string_view text) {
  if (text.empty() || text.find('_') == std::string_view::npos) return {};
  const std::size_t first = text.front() == '-' || text.front() == '+' ? 1 : 0;
  if (first >= text.size() || std::isdigit(static_cast<unsigned char>(text[first])) == 0) return {};
  std::string digits;
  for (const char c : text)
    if (c != '_') digits += c;
  return base::is_decimal(digits) ? digits : std::string();
}

/// Converts a document into settings.
class YamlSettings {
 public:
  YamlSettings(std::string_view content, int source) : content_(content), source_(source), lines_{0} {
    for (std::size_t i = 0; i < content.size(); ++i)
      if (content[i] == '\n') lines_.push_back(i + 1);
  }

  Setting read(const base::Node& node) {
    Setting setting;
    setting.place = {.source = source_, .line = node.line(), .column = node.column()};
    if (left_ == 0) return setting;
    --left_;
    if (node.is_list()) {
      setting.kind = SettingKind::list;
      for (std::size_t i = 0; i < node.size() && left_ > 0; ++i) setting.items.push_back(read(node.item(i)));
    } else if (node.is_map()) {
      read_map(setting, node);
    } else if (!node.is_null()) {
      read_scalar(setting, node);
    }
    return setting;
  }
  bool is_too_large() const { return left_ == 0; }

 private:
  /// Returns whether the scalar is unquoted.
  bool is_plain(const base::Node& node) const {
    const auto line = static_cast<std::size_t>(std::max(node.line() - 1, 0));
    const std::size_t begin = line < lines_.size() ? lines_[line] : content_.size();
    const std::size_t at = begin + static_cast<std::size_t>(std::max(node.column() - 1, 0));
    return at >= content_.size() || (content_[at] != '"' && content_[at] != '\'');
  }

  void read_scalar(Setting& setting, const base::Node& node) const {
    setting.text = node.text();
    if (node.is_boolean() || node.is_number()) {
      setting.kind = node.is_number() ? SettingKind::number : SettingKind::boolean;
      return;
    }
    setting.kind = SettingKind::string;
    const std::optional<bool> boolean = yaml_boolean(setting.text);
    const std::string number = without_underscores(setting.text);
    if ((!boolean && number.empty()) || !is_plain(node)) return;
    setting.kind = boolean ? SettingKind::boolean : SettingKind::number;
    setting.text = !boolean ? number : *boolean ? "true" : "false";
  }

  /// Merges the maps named by `<<` into the map. The first of several maps has precedence.
  void join(Setting& setting, const base::Node& node) {
    Setting joined = read(node);
    if (joined.kind == SettingKind::map) joined.items.push_back(joined);
    for (auto map = joined.items.rbegin(); map != joined.items.rend(); ++map) {
      for (auto& [name, value] : map->members) {
        if (Setting* existing = find_member(setting, name))
          *existing = std::move(value);
        else
          setting.members.emplace_back(name, std::move(value));
      }
    }
  }

  void read_map(Setting& setting, const base::Node& node) {
    setting.kind = SettingKind::map;
    if (const std::optional<base::Node> joined = node.find("<<")) join(setting, *joined);
    const bool is_joined = !setting.members.empty();
    for (std::size_t i = 0; i < node.size() && left_ > 0; ++i) {
      if (node.key(i) == "<<") continue;
      Setting value = read(node.value(i));
      Setting* existing = is_joined ? find_member(setting, node.key(i)) : nullptr;
      if (existing)
        *existing = std::move(value);
      else
        setting.members.emplace_back(std::string(node.key(i)), std::move(value));
    }
  }

  std::string_view content_;
  int source_;
  std::vector<std::size_t> lines_;
  std::size_t left_ = max_settings + 1;  // 0: too many values
};

}  // namespace

const Setting* find_member(const Setting& map, std::string_view name) {
  for (const auto& [key, value] : map.members)
    if (key == name) return &value;
  return nullptr;
}

Setting* find_member(Setting& map, std::string_view name) {
  for (auto& [key, value] : map.members)
    if (key == name) return &value;
  return nullptr;
}

std::vector<std::string> names_of_path(std::string_view path) {
  std::vector<std::string> names;
  std::string name;
  bool begins = true;
  const auto end_name = [&] {
    if (!begins) names.push_back(name);
    name.clear();
    begins = true;
  };
  for (const char c : path) {
    if (c == '.' || c == '[' || c == ']') {
      end_name();
    } else {
      name += c;
      begins = false;
    }
  }
  end_name();
  return names;
}

const Setting* find_setting(const Setting& root, std::string_view path) {
  const Setting* setting = &root;
  for (const std::string& name : names_of_path(path)) {
    setting = child_of(*setting, name);
    if (!setting) return nullptr;
  }
  return setting;
}

bool put_setting(Setting& root, std::string_view path, Setting value) {
  Setting* setting = &root;
  for (const std::string& name : names_of_path(path)) {
    if (setting->kind == SettingKind::null || setting->kind == SettingKind::string) {
      // An interpolation that refers to a map is replaced by a map.
      const Place place = setting->place;
      *setting = {.kind = SettingKind::map, .text = {}, .items = {}, .members = {}, .place = place, .unknown = {}};
    }
    if (setting->kind == SettingKind::list) {
      const std::optional<std::size_t> index = index_of(*setting, name);
      if (!index) return false;
      setting = &setting->items[*index];
      continue;
    }
    if (setting->kind != SettingKind::map) return false;
    Setting* member = find_member(*setting, name);
    if (!member) {
      setting->members.emplace_back(name, Setting{});
      member = &setting->members.back().second;
      member->place = value.place;
    }
    setting = member;
  }
  *setting = std::move(value);
  return true;
}

bool remove_setting(Setting& root, std::string_view path) {
  const std::vector<std::string> names = names_of_path(path);
  if (names.empty()) return false;
  const std::string& last = names.back();
  Setting* parent = &root;
  for (std::size_t i = 0; i + 1 < names.size() && parent; ++i)
    parent = parent->kind == SettingKind::map ? find_member(*parent, names[i]) : nullptr;
  if (!parent) return false;
  return std::erase_if(parent->members, [&](const auto& member) { return member.first == last; }) > 0;
}

void merge_setting(Setting& under, Setting over) {
  if (under.kind != SettingKind::map || over.kind != SettingKind::map) {
    under = std::move(over);
    return;
  }
  // NeMo-RL's marker that replaces a whole map.
  const bool replaces =
      std::erase_if(over.members, [](const auto& member) { return member.first == "_override_"; }) > 0;
  if (replaces) under.members.clear();
  under.place = over.place;
  for (auto& [name, value] : over.members) {
    if (Setting* existing = find_member(under, name))
      merge_setting(*existing, std::move(value));
    else
      under.members.emplace_back(name, std::move(value));
  }
}

base::Result<Setting> setting_of(const base::Document& document, std::string_view content, int source) {
  YamlSettings reader(content, source);
  Setting setting = reader.read(document.root());
  if (reader.is_too_large())
    return document.root().error(fmt::format("the file has too many values; accepted: at most {}", max_settings));
  return setting;
}

std::string value_text(const Setting& setting) {
  using enum Setting::Kind;
  std::string text;
  switch (setting.kind) {
    case null:
      return "null";
    case unknown:
      return "?";
    case boolean:
    case number:
    case string:
      return setting.text;
    case list:
      for (const Setting& item : setting.items) text += (text.empty() ? "" : ", ") + value_text(item);
      return "[" + text + "]";
    case map:
      for (const auto& [name, value] : setting.members)
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, value_text(value));
      return "{" + text + "}";
  }
  return text;
}

std::string to_json(const Setting& setting) {
  std::string text;
  switch (setting.kind) {
    case SettingKind::null:
      return "null";
    case SettingKind::boolean:
    case SettingKind::number:
      return setting.text;
    case SettingKind::string:
      return base::json_string(setting.text);
    case SettingKind::unknown:
      return base::json_string(fmt::format("<{}>", setting.unknown ? setting.unknown->what : std::string()));
    case SettingKind::list:
      for (const Setting& item : setting.items) text += (text.empty() ? "" : ",") + to_json(item);
      return "[" + text + "]";
    case SettingKind::map:
      for (const auto& [name, value] : setting.members)
        text += (text.empty() ? "" : ",") + base::json_string(name) + ":" + to_json(value);
      return "{" + text + "}";
  }
  return text;
}

}  // namespace dovetail::syntax
