// Settings of a trainer as one tree: what files, overrides and interpolations come to, each value with its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "syntax/text.h"

namespace dovetail::syntax {

/// A value. `text` is the decimal as written of a number, `true` or `false` of a boolean, the characters of a string.
struct Setting {
  enum class Kind { null, boolean, number, string, list, map, unknown };
  Kind kind = Kind::null;
  std::string text;
  std::vector<Setting> items;                            ///< of a list
  std::vector<std::pair<std::string, Setting>> members;  ///< of a map, in the order of their first mention
  Place place;                                           ///< where it was written last
  std::optional<Unknown> unknown;  ///< of an unknown value; of others what decides whether it holds

  bool operator==(const Setting&) const = default;
};

/// A tree with the sources that its places count.
struct SettingTree {
  std::vector<std::string> sources;
  Setting root = {.kind = Setting::Kind::map, .text = {}, .items = {}, .members = {}, .place = {}, .unknown = {}};
};

/// The member of a map; null where there is none.
const Setting* find_member(const Setting& map, std::string_view name);
Setting* find_member(Setting& map, std::string_view name);
/// The value at a path: `actor.optim.lr`, `files[0]`, `files.0`. Null where there is none.
const Setting* find_setting(const Setting& root, std::string_view path);
/// The names of a path: `a.b[0]` is `a`, `b`, `0`.
std::vector<std::string> names_of_path(std::string_view path);

/// Puts a value at a path, making maps on the way. False where something on the way is neither map nor list, or a list
/// has no such item.
bool put_setting(Setting& root, std::string_view path, Setting value);
/// Takes a value away; false where there is none.
bool remove_setting(Setting& root, std::string_view path);
/// Lays one value over another: maps are joined member by member, all else is replaced.
void merge_setting(Setting& under, Setting over);

/// The value of a document's root as PyYAML has it: plain `yes`, `On` or `True` is a boolean, `1_000` a number, and
/// `<<` joins a map. `content` is the document's text, `source` the number of its file. An Error where anchors make it
/// larger than any configuration is.
base::Result<Setting> setting_of(const base::Document& document, std::string_view content, int source);

/// The value as people write it: "16", "true", "null", "[a, b]"; what is not known, "?".
std::string value_words(const Setting& setting);

/// The value in JSON: for comparisons and messages.
std::string to_json(const Setting& setting);

}  // namespace dovetail::syntax
