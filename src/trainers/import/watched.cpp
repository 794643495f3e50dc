#include "trainers/import/watched.h"

#include <fmt/format.h>

#include <algorithm>

#include "syntax/files.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
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
        {key, fmt::format("{}: handed on as it is, not counted", value_words(setting)), setting.place});
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
  error.message = fmt::format("`{}` depends on this: {}", key, error.message);
  return error;
}

base::Status watch(const syntax::SettingTree& tree, std::string_view keys, std::span<const Watched> table,
                   ImportedRun& run) {
  for (const Watched& watched : table) {
    const std::string key = fmt::format("{}{}", keys, watched.key);
    const syntax::Setting* const setting = find_setting(tree.root, key);
    if (setting == nullptr) continue;
    DOVETAIL_CHECK(check_known(tree, key, *setting));
    const std::string value = value_words(*setting);
    if (!is_one_of(value, watched.modelled))
      run.not_modelled.push_back({key, fmt::format("{}: {}", value, watched.what), setting->place});
  }
  return {};
}

void watch_handed_on(const syntax::SettingTree& tree, const std::string& key, std::span<const std::string_view> read,
                     ImportedRun& run) {
  if (const syntax::Setting* const setting = find_setting(tree.root, key)) add_handed_on(key, *setting, read, run);
}

}  // namespace dovetail::trainers
