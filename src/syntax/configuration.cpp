#include "syntax/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/document.h"
#include "syntax/files.h"

namespace dovetail::syntax {
namespace {

constexpr int max_composed_depth = 32;
constexpr int max_composed_files = 1000;

/// A composition under way.
struct Composition {
  const ConfigurationRequest& request;
  std::string folder;  ///< of the configuration: `/name` begins there
  std::vector<Override> overrides;
  std::map<std::string, std::string> choices;  ///< of groups, by their name
  SettingTree tree;
  int depth = 0;
  int files = 0;
};

/// An entry of a list of defaults.
struct DefaultEntry {
  bool is_self = false;
  bool is_optional = false;
  std::string group;                   ///< empty: a file beside this one
  std::optional<std::string> package;  ///< what follows `@`
  std::optional<std::string> choice;   ///< none: null, nothing is taken
  Place place;
};

base::Error composition_error(const Composition& composition, const Place& place, std::string message) {
  return {.failure = base::Failure::bad_input,
          .path = composition.tree.sources[static_cast<std::size_t>(place.source)],
          .line = place.line,
          .column = place.column,
          .message = std::move(message)};
}

std::string with_extension(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") ? name : name + ".yaml";
}

/// What an override chooses for a group, by the group alone or with its package.
const Override* chosen(const Composition& composition, const DefaultEntry& entry) {
  const Override* found = nullptr;
  const std::string name = name_of(entry.group, {});
  for (const Override& one : composition.overrides) {
    const bool is_group = one.key == entry.group || one.key == name;
    const bool is_package = one.package.empty() || one.package == entry.package.value_or("");
    if (is_group && is_package && one.value && one.value->kind == Setting::Kind::string) found = &one;
  }
  return found;
}

/// `${group}` within a choice.
std::string with_choices(const Composition& composition, std::string text) {
  for (std::size_t begin = text.find("${"); begin != std::string::npos; begin = text.find("${", begin)) {
    const std::size_t end = text.find('}', begin);
    if (end == std::string::npos) break;
    const auto choice = composition.choices.find(text.substr(begin + 2, end - begin - 2));
    if (choice == composition.choices.end()) {
      begin = end;
      continue;
    }
    text.replace(begin, end + 1 - begin, choice->second);
    begin += choice->second.size();
  }
  return text;
}

void read_group(DefaultEntry& entry, std::string_view key) {
  for (const std::string_view word : {"optional ", "override "}) {
    if (!key.starts_with(word)) continue;
    entry.is_optional = entry.is_optional || word.front() == 'o';
    key.remove_prefix(word.size());
  }
  const std::size_t at = key.find('@');
  entry.group = key.substr(0, at);
  if (at != std::string_view::npos) entry.package = std::string(key.substr(at + 1));
}

base::Result<std::vector<DefaultEntry>> read_defaults(const Composition& composition, const Setting& defaults) {
  std::vector<Setting> items = defaults.items;
  if (defaults.kind == Setting::Kind::string) items.push_back(defaults);
  std::vector<DefaultEntry> entries;
  for (const Setting& item : items) {
    DefaultEntry entry;
    entry.place = item.place;
    if (item.kind == Setting::Kind::string) {
      entry.is_self = item.text == "_self_";
      const std::size_t at = item.text.find('@');
      entry.choice = item.text.substr(0, at);
      if (at != std::string::npos) entry.package = item.text.substr(at + 1);
      entries.push_back(std::move(entry));
      continue;
    }
    if (item.kind != Setting::Kind::map || item.members.size() != 1)
      return composition_error(composition, item.place,
                               "a default is neither a name nor a group; accepted: `NAME`, `GROUP: NAME` or `_self_`");
    const auto& [key, value] = item.members.front();
    read_group(entry, key);
    if (key.starts_with("override ") || entry.group.starts_with("hydra")) continue;
    std::vector<Setting> choices = value.items;
    if (value.kind != Setting::Kind::list) choices.push_back(value);
    for (const Setting& choice : choices) {
      entries.push_back(entry);
      if (choice.kind != Setting::Kind::null) entries.back().choice = choice.text;
    }
  }
  const auto is_self = [](const DefaultEntry& entry) { return entry.is_self; };
  if (std::none_of(entries.begin(), entries.end(), is_self)) {
    entries.emplace_back();
    entries.back().is_self = true;
  }
  return entries;
}

/// `a.b` and `c` are `a.b.c`.
std::string join_package(const std::string& outer, const std::string& inner) {
  if (outer.empty() || inner.empty()) return outer + inner;
  return outer + "." + inner;
}

std::string package_of(const DefaultEntry& entry, const std::string& outer) {
  const std::string& named = entry.package.value_or("_group_");
  if (named == "_global_") return {};
  if (named.starts_with("_global_.")) return named.substr(9);
  if (named == "_here_") return outer;
  if (named != "_group_") return join_package(outer, named);
  std::string group = entry.group;
  while (group.starts_with("/") || group.starts_with("../")) group.erase(0, group.find('/') + 1);
  std::replace(group.begin(), group.end(), '/', '.');
  return join_package(outer, group);
}

/// What the first comment lines say: `# @package _global_`.
std::optional<std::string> package_header(std::string_view content) {
  while (content.starts_with('#') || content.starts_with('\n')) {
    const std::string_view line = content.substr(0, content.find('\n'));
    const std::size_t at = line.find("@package");
    if (at != std::string_view::npos) {
      std::string_view name = line.substr(at + 8);
      while (name.starts_with(' ') || name.starts_with(':')) name.remove_prefix(1);
      while (name.ends_with(' ') || name.ends_with('\r')) name.remove_suffix(1);
      return std::string(name);
    }
    content.remove_prefix(std::min(line.size() + 1, content.size()));
  }
  return std::nullopt;
}

base::Status compose_file(Composition& composition, const std::string& path, const std::string& content,
                          std::string package);

base::Status compose_entry(Composition& composition, DefaultEntry entry, const std::string& folder,
                           const std::string& package) {
  if (!entry.group.empty()) {
    if (const Override* one = chosen(composition, entry)) {
      entry.choice = one->value->text;
      entry.place = one->place;
    }
    if (!entry.choice) return {};
    entry.choice = with_choices(composition, *entry.choice);
    composition.choices[name_of(entry.group, {})] = *entry.choice;
  }
  if (!entry.choice) return {};
  const std::string name = with_extension(entry.group.empty() ? *entry.choice : entry.group + "/" + *entry.choice);
  const std::string path = name.starts_with('/') && !entry.choice->starts_with('/')
                               ? join_path(composition.folder, name.substr(1))
                               : join_path(folder, name);
  const base::Result<std::string> content = composition.request.read(path);
  if (!content.ok()) {
    if (entry.is_optional) return {};
    return composition_error(
        composition, entry.place,
        fmt::format("{} is not read: {}; accepted: a file below the root", base::quote(path), content.error().message));
  }
  return compose_file(composition, path, *content,
                      entry.group.empty() && !entry.package ? package : package_of(entry, package));
}

base::Status compose_file(Composition& composition, const std::string& path, const std::string& content,
                          std::string package) {
  const int source = static_cast<int>(composition.tree.sources.size());
  composition.tree.sources.push_back(path);
  const Place begin{.source = source, .line = 1, .column = 1};
  if (++composition.depth > max_composed_depth || ++composition.files > max_composed_files)
    return composition_error(composition, begin, "defaults name each other without end; accepted: files that end");
  DOVETAIL_TRY(const base::Document document, base::parse_yaml(content, path));
  DOVETAIL_TRY(Setting setting, setting_of(document, content, source));
  if (setting.kind == Setting::Kind::null) setting.kind = Setting::Kind::map;
  if (setting.kind != Setting::Kind::map)
    return composition_error(composition, setting.place, "the file holds no map; accepted: settings by their names");
  if (const std::optional<std::string> header = package_header(content); header && *header == "_global_")
    package.clear();
  Setting defaults;
  if (const Setting* mine = find_member(setting, "defaults")) defaults = *mine;
  remove_setting(setting, "defaults");
  DOVETAIL_TRY(const std::vector<DefaultEntry> entries, read_defaults(composition, defaults));
  for (const DefaultEntry& entry : entries) {
    if (!entry.is_self) {
      DOVETAIL_CHECK(compose_entry(composition, entry, folder_of(path), package));
      continue;
    }
    Setting nested;
    nested.kind = Setting::Kind::map;
    nested.place = setting.place;
    if (!put_setting(nested, package, setting)) nested = setting;
    merge_setting(composition.tree.root, std::move(nested));
  }
  --composition.depth;
  return {};
}

}  // namespace

base::Result<SettingTree> compose_configuration(const ConfigurationRequest& request) {
  Composition composition{.request = request,
                          .folder = folder_of(request.path),
                          .overrides = {},
                          .choices = {},
                          .tree = {},
                          .depth = 0,
                          .files = 0};
  composition.tree.sources = request.sources;
  for (const Word& word : request.words) {
    if (!is_override(word)) continue;
    DOVETAIL_TRY(Override one, parse_override(word, request.sources));
    composition.overrides.push_back(std::move(one));
  }
  DOVETAIL_TRY(const std::string content, request.read(request.path));
  DOVETAIL_CHECK(compose_file(composition, request.path, content, {}));
  const auto is_choice = [&](const Override& one) {
    return !one.package.empty() || one.key.find('/') != std::string::npos || one.key.starts_with("hydra") ||
           composition.choices.contains(one.key);
  };
  std::erase_if(composition.overrides, is_choice);
  DOVETAIL_CHECK(apply_overrides(composition.tree, composition.overrides));
  return std::move(composition.tree);
}

}  // namespace dovetail::syntax
