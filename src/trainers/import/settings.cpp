#include "trainers/import/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/document.h"
#include "syntax/files.h"

namespace dovetail::trainers {
namespace {

constexpr std::int64_t max_whole = std::int64_t{1} << 40;

/// Returns the value, or null if it is missing or null. Returns an Error if it is unknown before the script runs.
base::Result<const syntax::Setting*> known_at(const syntax::SettingTree& tree, std::string_view key) {
  const syntax::Setting* const setting = find_setting(tree.root, key);
  if (setting == nullptr) return nullptr;
  if (setting->unknown || setting->kind == syntax::Setting::Kind::unknown) {
    base::Error error = unknown_error(tree.sources, setting->unknown.value_or(syntax::Unknown{}));
    error.message = fmt::format("`{}` depends on an unknown value: {}", key, error.message);
    return error;
  }
  return setting->kind == syntax::Setting::Kind::null ? nullptr : setting;
}

template <class T>
std::optional<T> parsed_number(const std::string& text) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
base::Result<T> required_value(const syntax::SettingTree& tree, std::string_view key,
                               base::Result<std::optional<T>> read) {
  if (!read.ok()) return std::move(read).error();
  if (!*read) return setting_error(tree, key, "is missing or null; accepted: a value");
  return **read;
}

}  // namespace

syntax::Place place_of(const syntax::SettingTree& tree, std::string_view key) {
  const syntax::Setting* const setting = find_setting(tree.root, key);
  return setting == nullptr ? syntax::Place{} : setting->place;
}

base::Error setting_error(const syntax::SettingTree& tree, std::string_view key, std::string_view what) {
  return place_error(tree.sources, place_of(tree, key), fmt::format("`{}` {}", key, what));
}

std::string key_below(std::string_view keys, std::string_view name) { return fmt::format("{}.{}", keys, name); }

base::Result<std::optional<bool>> optional_flag(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const syntax::Setting* const setting, known_at(tree, key));
  if (setting == nullptr) return std::optional<bool>();
  const std::string& text = setting->text;
  if (text == "true" || text == "True") return std::optional(true);
  if (text == "false" || text == "False") return std::optional(false);
  return setting_error(tree, key, fmt::format("is {}; accepted: true or false", base::quote(value_text(*setting))));
}

base::Result<std::optional<std::int64_t>> optional_integer(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const syntax::Setting* const setting, known_at(tree, key));
  if (setting == nullptr) return std::optional<std::int64_t>();
  const auto number = parsed_number<double>(setting->text);
  if (number && *number >= -1 && *number <= static_cast<double>(max_whole) && *number == std::floor(*number))
    return std::optional(static_cast<std::int64_t>(*number));
  return setting_error(
      tree, key,
      fmt::format("is {}; accepted: an integer from -1 to {}", base::quote(value_text(*setting)), max_whole));
}

base::Result<std::optional<double>> optional_number(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const syntax::Setting* const setting, known_at(tree, key));
  if (setting == nullptr) return std::optional<double>();
  if (const auto number = parsed_number<double>(setting->text); number && std::isfinite(*number)) return number;
  return setting_error(tree, key, fmt::format("is {}; accepted: a number", base::quote(value_text(*setting))));
}

base::Result<std::optional<std::string>> optional_text(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const syntax::Setting* const setting, known_at(tree, key));
  if (setting == nullptr) return std::optional<std::string>();
  if (setting->kind != syntax::Setting::Kind::list && setting->kind != syntax::Setting::Kind::map)
    return std::optional(setting->text);
  return setting_error(tree, key, fmt::format("is {}; accepted: a string", base::quote(value_text(*setting))));
}

base::Result<bool> flag_at(const syntax::SettingTree& tree, std::string_view key) {
  return required_value(tree, key, optional_flag(tree, key));
}

base::Result<std::int64_t> integer_at(const syntax::SettingTree& tree, std::string_view key) {
  return required_value(tree, key, optional_integer(tree, key));
}

base::Result<std::int64_t> count_at(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const std::int64_t count, integer_at(tree, key));
  if (count >= 1) return count;
  return setting_error(tree, key, fmt::format("is {}; accepted: at least 1", count));
}

base::Result<std::int64_t> count_or(const syntax::SettingTree& tree, std::string_view key, std::int64_t otherwise) {
  DOVETAIL_TRY(const auto integer, optional_integer(tree, key));
  if (!integer) return otherwise;
  return count_at(tree, key);
}

base::Result<double> decimal_at(const syntax::SettingTree& tree, std::string_view key) {
  return required_value(tree, key, optional_number(tree, key));
}

base::Result<std::string> text_at(const syntax::SettingTree& tree, std::string_view key) {
  return required_value(tree, key, optional_text(tree, key));
}

namespace {

void add_handed_on(const std::string& key, const syntax::Setting& setting, std::span<const std::string_view> read,
                   ImportedRun& run) {
  if (setting.kind == syntax::Setting::Kind::map) {
    for (const auto& [name, value] : setting.members)
      if (std::find(read.begin(), read.end(), name) == read.end())
        add_handed_on(fmt::format("{}.{}", key, name), value, read, run);
    return;
  }
  if (setting.place.line > 0)
    run.not_modelled.push_back(
        {key, fmt::format("{}: passed on by the trainer unchanged; its effect is not modeled", value_text(setting)),
         setting.place});
}

}  // namespace

bool is_one_of(std::string_view value, std::string_view values) {
  while (true) {
    const std::size_t end = std::min(values.find('|'), values.size());
    if (values.substr(0, end) == value) return true;
    if (end == values.size()) return false;
    values.remove_prefix(end + 1);
  }
}

base::Status check_known(const syntax::SettingTree& tree, std::string_view key, const syntax::Setting& setting) {
  if (!setting.unknown && setting.kind != syntax::Setting::Kind::unknown) return {};
  base::Error error = unknown_error(tree.sources, setting.unknown.value_or(syntax::Unknown{}));
  error.message = fmt::format("`{}` depends on an unknown value: {}", key, error.message);
  return error;
}

base::Status add_unmodeled(const syntax::SettingTree& tree, std::string_view keys,
                           std::span<const CheckedSetting> table, ImportedRun& run) {
  for (const CheckedSetting& checked : table) {
    const std::string key = fmt::format("{}{}", keys, checked.key);
    const syntax::Setting* const setting = find_setting(tree.root, key);
    if (setting == nullptr) continue;
    DOVETAIL_CHECK(check_known(tree, key, *setting));
    const std::string value = value_text(*setting);
    if (!is_one_of(value, checked.modelled))
      run.not_modelled.push_back({key, fmt::format("{}: {}", value, checked.what), setting->place});
  }
  return {};
}

void add_passed_on(const syntax::SettingTree& tree, const std::string& key, std::span<const std::string_view> read,
                   ImportedRun& run) {
  if (const syntax::Setting* const setting = find_setting(tree.root, key)) add_handed_on(key, *setting, read, run);
}

bool has_top_key(std::string_view content, std::string_view key) {
  while (!content.empty()) {
    const std::string_view line = content.substr(0, content.find('\n'));
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ':') return true;
    content.remove_prefix(std::min(line.size() + 1, content.size()));
  }
  return false;
}

syntax::Setting without_wrapping(syntax::Setting root) {
  std::erase_if(root.members,
                [](const auto& member) { return member.first.starts_with("_") || member.first == "wandb_version"; });
  for (auto& [name, setting] : root.members)
    if (syntax::Setting* const value = find_member(setting, "value")) setting = syntax::Setting(*value);
  return root;
}

}  // namespace dovetail::trainers
