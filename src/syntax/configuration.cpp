#include "syntax/configuration.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/document.h"
#include "syntax/files.h"

namespace dovetail::syntax {
namespace {

constexpr int max_composed_depth = 32;
constexpr int max_composed_files = 1000;

/// An entry of a `defaults:` list.
struct DefaultEntry {
  bool is_self = false;
  bool is_optional = false;
  bool is_override = false;
  std::string group;                   ///< empty: a file in the same folder
  std::optional<std::string> package;  ///< text after `@`
  std::vector<std::string> choices;    ///< files to include; empty for null
  Place place;
};

/// A composition in progress.
struct Composition {
  const ConfigurationRequest& request;
  std::string folder;  ///< folder of the configuration, the root of `/name`
  std::vector<Override> overrides;
  std::map<std::string, DefaultEntry> replacements;  ///< first `override` of each group, by folder and package
  std::map<std::string, std::string> choices;        ///< choice of each group, by name
  SettingTree tree;
  int depth = 0;
  int files = 0;
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

/// Returns the last override on the command line that chooses from the entry's group, or null. It may name the group
/// alone or with its package.
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

/// Replaces `${group}` within a choice.
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
  for (std::size_t end = key.find(' '); end != std::string_view::npos; end = key.find(' ')) {
    entry.is_optional = entry.is_optional || key.substr(0, end) == "optional";
    entry.is_override = entry.is_override || key.substr(0, end) == "override";
    key.remove_prefix(end + 1);
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
      entry.choices.push_back(item.text.substr(0, at));
      if (at != std::string::npos) entry.package = item.text.substr(at + 1);
      entries.push_back(std::move(entry));
      continue;
    }
    if (item.kind != Setting::Kind::map || item.members.size() != 1)
      return composition_error(composition, item.place,
                               "an entry of `defaults` is neither a name nor a group; accepted: `NAME`, `GROUP: NAME` "
                               "or `_self_`");
    const auto& [key, value] = item.members.front();
    read_group(entry, key);
    if (entry.group.starts_with("hydra")) continue;
    std::vector<Setting> choices = value.items;
    if (value.kind != Setting::Kind::list) choices.push_back(value);
    for (const Setting& choice : choices)
      if (choice.kind != Setting::Kind::null) entry.choices.push_back(choice.text);
    entries.push_back(std::move(entry));
  }
  const auto is_self = [](const DefaultEntry& entry) { return entry.is_self; };
  if (std::none_of(entries.begin(), entries.end(), is_self)) {
    entries.emplace_back();
    entries.back().is_self = true;
  }
  return entries;
}

/// Joins `a.b` and `c` to `a.b.c`.
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

/// Returns the folder of a group in a file of `folder`.
std::string group_folder(const Composition& composition, const DefaultEntry& entry, const std::string& folder) {
  return entry.group.starts_with('/') ? join_path(composition.folder, entry.group.substr(1))
                                      : join_path(folder, entry.group);
}

/// Returns what identifies a group: its folder and its package.
std::string group_key(const Composition& composition, const DefaultEntry& entry, const std::string& folder,
                      const std::string& package) {
  return group_folder(composition, entry, folder) + "@" + package_of(entry, package);
}

/// Returns the package named in the leading comment lines: `# @package _global_`.
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

base::Status compose_choice(Composition& composition, const DefaultEntry& entry, std::string choice,
                            const std::string& folder, const std::string& package) {
  if (!entry.group.empty()) {
    choice = with_choices(composition, choice);
    composition.choices[name_of(entry.group, {})] = choice;
  }
  const std::string name = with_extension(choice);
  const std::string path = entry.group.empty() ? join_path(folder, name)
                                               : join_path({}, group_folder(composition, entry, folder) + "/" + name);
  const base::Result<std::string> content = composition.request.read(path);
  if (!content.ok()) {
    if (entry.is_optional) return {};
    return composition_error(composition, entry.place,
                             fmt::format("cannot read {}: {}; accepted: a file below the root folder (--root)",
                                         base::quote(path), content.error().message));
  }
  return compose_file(composition, path, *content,
                      entry.group.empty() && !entry.package ? package : package_of(entry, package));
}

base::Status compose_entry(Composition& composition, DefaultEntry entry, const std::string& folder,
                           const std::string& package) {
  if (!entry.group.empty()) {
    const auto replacement = composition.replacements.find(group_key(composition, entry, folder, package));
    if (replacement != composition.replacements.end()) {
      entry.choices = replacement->second.choices;
      entry.place = replacement->second.place;
    }
    if (const Override* one = chosen(composition, entry)) {
      entry.choices = {one->value->text};
      entry.place = one->place;
    }
  }
  for (const std::string& choice : entry.choices)
    DOVETAIL_CHECK(compose_choice(composition, entry, choice, folder, package));
  return {};
}

base::Status compose_file(Composition& composition, const std::string& path, const std::string& content,
                          std::string package) {
  const int source = static_cast<int>(composition.tree.sources.size());
  composition.tree.sources.push_back(path);
  const Place begin{.source = source, .line = 1, .column = 1};
  if (++composition.depth > max_composed_depth || ++composition.files > max_composed_files)
    return composition_error(
        composition, begin,
        "`defaults` form a cycle, nest too deeply or include too many files; remove the cycle or some of the files");
  DOVETAIL_TRY(const base::Document document, base::parse_yaml(content, path));
  DOVETAIL_TRY(Setting setting, setting_of(document, content, source));
  if (setting.kind == Setting::Kind::null) setting.kind = Setting::Kind::map;
  if (setting.kind != Setting::Kind::map)
    return composition_error(composition, setting.place, "the file is not a map; accepted: a map from keys to values");
  if (const std::optional<std::string> header = package_header(content); header && *header == "_global_")
    package.clear();
  Setting defaults;
  if (const Setting* member = find_member(setting, "defaults")) defaults = *member;
  remove_setting(setting, "defaults");
  DOVETAIL_TRY(const std::vector<DefaultEntry> entries, read_defaults(composition, defaults));
  for (const DefaultEntry& entry : entries)
    if (entry.is_override)
      composition.replacements.emplace(group_key(composition, entry, folder_of(path), package), entry);
  for (const DefaultEntry& entry : entries) {
    if (entry.is_override) continue;
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
                          .replacements = {},
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

namespace {

constexpr int max_resolved_depth = 32;
constexpr std::int64_t max_resolved = 120'000;

using ResolvedKind = Setting::Kind;

Setting not_resolved(const Place& place, std::string what, std::string variable = {}) {
  Setting setting;
  setting.kind = ResolvedKind::unknown;
  setting.place = place;
  setting.unknown = Unknown{.place = place, .what = std::move(what), .variable = std::move(variable), .many = false};
  return setting;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

/// Returns the position of the `}` that closes the `${` at `begin`, or npos if it is missing.
std::size_t end_of_interpolation(std::string_view text, std::size_t begin) {
  int open = 0;
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    open += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (open == 0) return i;
  }
  return std::string_view::npos;
}

/// Splits the arguments of a resolver at commas outside braces, brackets, parentheses and quotes.
std::vector<std::string_view> arguments_of(std::string_view text) {
  std::vector<std::string_view> arguments;
  int open = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{' || c == '[' || c == '(') {
      ++open;
    } else if (c == '}' || c == ']' || c == ')') {
      --open;
    } else if (c == ',' && open == 0) {
      arguments.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  arguments.push_back(trimmed(text.substr(begin)));
  return arguments;
}

std::optional<double> decimal_of(const Setting& setting) {
  double value = 0;
  if (setting.kind != ResolvedKind::number) return std::nullopt;
  const auto [end, fault] = std::from_chars(setting.text.data(), setting.text.data() + setting.text.size(), value);
  if (fault != std::errc() || end != setting.text.data() + setting.text.size()) return std::nullopt;
  return value;
}

/// Returns the result of an arithmetic resolver, or nullopt for any other resolver.
std::optional<double> compute_sum(std::string_view name, double a, double b) {
  if (name == "mul") return a * b;
  if (name == "add" || name == "sum") return a + b;
  if (name == "sub") return a - b;
  if (name == "div" && b != 0) return std::floor(a / b);
  if (name == "max") return std::max(a, b);
  if (name == "min") return std::min(a, b);
  return std::nullopt;
}

/// Builds a resolved copy of a tree, without changing the original.
class Resolver {
 public:
  Resolver(const SettingTree& tree, const std::map<std::string, std::string>& environment)
      : tree_(tree), environment_(environment) {}

  Setting resolved(const Setting& setting, const std::vector<std::string>& path) {
    if (--left_ < 0) return {};
    Setting result = setting;
    for (std::size_t i = 0; i < result.items.size() && left_ > 0; ++i)
      result.items[i] = resolved(setting.items[i], below(path, std::to_string(i)));
    for (auto& [name, value] : result.members) {
      if (left_ <= 0) break;
      value = resolved(value, below(path, name));
    }
    if (result.kind != ResolvedKind::string || result.text.find("${") == std::string::npos) return result;
    Setting value = text_value(result.text, path, result.place);
    value.place = result.place;
    if (result.unknown && !value.unknown) value.unknown = result.unknown;
    return value;
  }
  bool is_too_large() const { return left_ <= 0; }

 private:
  static std::vector<std::string> below(std::vector<std::string> path, std::string name) {
    path.push_back(std::move(name));
    return path;
  }

  /// Resolves the interpolations in a string. A string that is a single interpolation gets the type of its value.
  Setting text_value(std::string_view text, const std::vector<std::string>& path, const Place& place) {
    if (depth_ >= max_resolved_depth)
      return not_resolved(place, base::quote(text) + ", a circular or too deeply nested reference,");
    left_ -= static_cast<std::int64_t>(text.size() / 16) + 1;
    if (left_ <= 0) return {};
    ++depth_;
    Setting result = composed(text, path, place);
    --depth_;
    return result;
  }

  Setting composed(std::string_view text, const std::vector<std::string>& path, const Place& place) {
    Setting result;
    result.kind = ResolvedKind::string;
    result.place = place;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = std::min(text.find("${", at), text.size());
      result.text += text.substr(at, begin - at);
      if (begin == text.size()) break;
      const std::size_t end = end_of_interpolation(text, begin);
      if (end == std::string_view::npos) return not_resolved(place, base::quote(text) + ", with an unclosed `${`,");
      if (begin > 0 && text[begin - 1] == '\\') {
        result.text.back() = '$';
        result.text += text.substr(begin + 1, end - begin);
        at = end + 1;
        continue;
      }
      Setting value = interpolated(trimmed(text.substr(begin + 2, end - begin - 2)), path, place);
      if (begin == 0 && end + 1 == text.size()) return value;
      if (value.kind == ResolvedKind::unknown) return value;
      left_ -= static_cast<std::int64_t>(value.text.size());
      if (left_ <= 0) return {};
      result.text += value.kind == ResolvedKind::null ? "None" : value.text;
      at = end + 1;
    }
    return result;
  }

  Setting interpolated(std::string_view text, const std::vector<std::string>& path, const Place& place) {
    const std::size_t colon = text.find(':');
    const std::size_t nested = text.find("${");
    if (colon == std::string_view::npos || (nested != std::string_view::npos && nested < colon)) {
      if (nested == std::string_view::npos) return at_key(text, path, place);
      const Setting key = text_value(text, path, place);
      return key.kind == ResolvedKind::unknown ? key : at_key(key.text, path, place);
    }
    return computed(trimmed(text.substr(0, colon)), arguments_of(text.substr(colon + 1)), path, place);
  }

  Setting argument(std::string_view text, const std::vector<std::string>& path, const Place& place) {
    if (text.find("${") != std::string_view::npos) return text_value(text, path, place);
    base::Result<Setting> value = parse_value(text, place, tree_.sources);
    return value.ok() ? std::move(*value) : not_resolved(place, base::quote(text));
  }

  Setting computed(std::string_view name, const std::vector<std::string_view>& arguments,
                   const std::vector<std::string>& path, const Place& place) {
    if (name == "oc.env") {
      const auto found = environment_.find(std::string(arguments[0]));
      if (found != environment_.end()) {
        base::Result<Setting> value = parse_value("'" + found->second + "'", place, tree_.sources);
        return value.ok() ? std::move(*value) : not_resolved(place, base::quote(found->second));
      }
      if (arguments.size() > 1) return argument(arguments[1], path, place);
      return not_resolved(place, fmt::format("environment variable {}", base::quote(arguments[0])),
                          std::string(arguments[0]));
    }
    if (name == "oc.select") {
      Setting value = at_key(arguments[0], path, place);
      const bool is_missing = value.kind == ResolvedKind::unknown && is_absent_;
      if (!is_missing) return value;
      if (arguments.size() > 1) return argument(arguments[1], path, place);
      Setting nothing;
      nothing.place = place;
      return nothing;
    }
    if (name == "oc.decode" && arguments.size() == 1) {
      Setting value = argument(arguments[0], path, place);
      if (value.kind != ResolvedKind::string) return value;
      return argument(value.text, path, place);
    }
    if (arguments.size() == 2) {
      const std::optional<double> a = decimal_of(argument(arguments[0], path, place));
      const std::optional<double> b = decimal_of(argument(arguments[1], path, place));
      const std::optional<double> value = a && b ? compute_sum(name, *a, *b) : std::nullopt;
      if (value && std::abs(*value) < 1e15) {
        Setting result;
        result.kind = ResolvedKind::number;
        result.place = place;
        result.text = fmt::format("{}", *value);
        return result;
      }
    }
    return not_resolved(place, fmt::format("the result of the resolver {}", base::quote(name)));
  }

  /// Returns the value at a key, relative to the root, or to the interpolation if the key has leading dots.
  Setting at_key(std::string_view key, const std::vector<std::string>& path, const Place& place) {
    std::vector<std::string> names;
    if (key.starts_with('.')) {
      std::size_t up = 0;
      while (key.starts_with('.')) {
        key.remove_prefix(1);
        ++up;
      }
      names.assign(path.begin(), path.end() - static_cast<std::ptrdiff_t>(std::min(up, path.size())));
    }
    for (const std::string& name : names_of_path(key)) names.push_back(name);
    const Setting* found = &tree_.root;
    for (std::size_t i = 0; i < names.size() && found; ++i) {
      found = find_setting(*found, names[i]);
      if (!found || found->kind != ResolvedKind::string || !found->text.starts_with("${") || i + 1 == names.size())
        continue;
      // A value on the path may refer to another map.
      const Setting partial =
          text_value(found->text, {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i) + 1}, place);
      std::string rest;
      for (std::size_t j = i + 1; j < names.size(); ++j) rest += (rest.empty() ? "" : ".") + names[j];
      const Setting* inner = find_setting(partial, rest);
      is_absent_ = inner == nullptr;
      return inner ? *inner : not_resolved(place, base::quote(rest) + ", a missing key,");
    }
    is_absent_ = !found || (found->kind == ResolvedKind::string && found->text == "???");
    if (is_absent_) return not_resolved(place, base::quote(key) + ", a missing key,");
    if (depth_ >= max_resolved_depth)
      return not_resolved(place, base::quote(key) + ", a circular or too deeply nested reference,");
    ++depth_;
    Setting value = resolved(*found, names);
    --depth_;
    is_absent_ = false;
    return value;
  }

  const SettingTree& tree_;
  const std::map<std::string, std::string>& environment_;
  std::int64_t left_ = max_resolved;
  int depth_ = 0;
  bool is_absent_ = false;
};

}  // namespace

base::Status resolve(SettingTree& tree, const std::map<std::string, std::string>& environment) {
  Resolver resolver(tree, environment);
  Setting root = resolver.resolved(tree.root, {});
  if (resolver.is_too_large()) {
    const auto source = static_cast<std::size_t>(tree.root.place.source);
    return base::Error{.failure = base::Failure::bad_input,
                       .path = source < tree.sources.size() ? tree.sources[source] : std::string(),
                       .line = tree.root.place.line,
                       .column = tree.root.place.column,
                       .message =
                           "the configuration is too large after interpolation; check it for circular "
                           "references"};
  }
  tree.root = std::move(root);
  return {};
}

}  // namespace dovetail::syntax
