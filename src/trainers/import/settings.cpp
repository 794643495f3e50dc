#include "trainers/import/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/document.h"
#include "syntax/files.h"

namespace dovetail::trainers {
namespace {

constexpr std::int64_t max_whole = std::int64_t{1} << 40;

/// The value, if it is there and not null; an Error where only running would tell it.
base::Result<const syntax::Setting*> known_at(const syntax::SettingTree& tree, std::string_view key) {
  const syntax::Setting* const setting = find_setting(tree.root, key);
  if (setting == nullptr) return nullptr;
  if (setting->unknown || setting->kind == syntax::Setting::Kind::unknown) {
    base::Error error = unknown_error(tree.sources, setting->unknown.value_or(syntax::Unknown{}));
    error.message = fmt::format("`{}` depends on this: {}", key, error.message);
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
  if (!*read) return setting_error(tree, key, "is not given; accepted: a value");
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
  return setting_error(tree, key, fmt::format("is {}; accepted: true or false", base::quote(value_words(*setting))));
}

base::Result<std::optional<std::int64_t>> optional_whole(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const syntax::Setting* const setting, known_at(tree, key));
  if (setting == nullptr) return std::optional<std::int64_t>();
  const auto number = parsed_number<double>(setting->text);
  if (number && *number >= -1 && *number <= static_cast<double>(max_whole) && *number == std::floor(*number))
    return std::optional(static_cast<std::int64_t>(*number));
  return setting_error(tree, key, fmt::format("is {}; accepted: a whole number", base::quote(value_words(*setting))));
}

base::Result<std::optional<double>> optional_number(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const syntax::Setting* const setting, known_at(tree, key));
  if (setting == nullptr) return std::optional<double>();
  if (const auto number = parsed_number<double>(setting->text); number && std::isfinite(*number)) return number;
  return setting_error(tree, key, fmt::format("is {}; accepted: a number", base::quote(value_words(*setting))));
}

base::Result<std::optional<std::string>> optional_text(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const syntax::Setting* const setting, known_at(tree, key));
  if (setting == nullptr) return std::optional<std::string>();
  if (setting->kind != syntax::Setting::Kind::list && setting->kind != syntax::Setting::Kind::map)
    return std::optional(setting->text);
  return setting_error(tree, key, fmt::format("is {}; accepted: a text", base::quote(value_words(*setting))));
}

base::Result<bool> flag_at(const syntax::SettingTree& tree, std::string_view key) {
  return required_value(tree, key, optional_flag(tree, key));
}

base::Result<std::int64_t> whole_at(const syntax::SettingTree& tree, std::string_view key) {
  return required_value(tree, key, optional_whole(tree, key));
}

base::Result<std::int64_t> count_at(const syntax::SettingTree& tree, std::string_view key) {
  DOVETAIL_TRY(const std::int64_t count, whole_at(tree, key));
  if (count >= 1) return count;
  return setting_error(tree, key, fmt::format("is {}; accepted: at least 1", count));
}

base::Result<std::int64_t> count_or(const syntax::SettingTree& tree, std::string_view key, std::int64_t otherwise) {
  DOVETAIL_TRY(const auto said, optional_whole(tree, key));
  if (!said) return otherwise;
  return count_at(tree, key);
}

base::Result<double> decimal_at(const syntax::SettingTree& tree, std::string_view key) {
  return required_value(tree, key, optional_number(tree, key));
}

base::Result<std::string> text_at(const syntax::SettingTree& tree, std::string_view key) {
  return required_value(tree, key, optional_text(tree, key));
}

}  // namespace dovetail::trainers
