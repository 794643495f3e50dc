// Settings of a trainer as one tree: the result of files, overrides and interpolations. Each value keeps its place.
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

/// A value. `text` is a number as written, `true` or `false` for a boolean, or the characters of a string.
struct Setting {
  enum class Kind { null, boolean, number, string, list, map, unknown };
  Kind kind = Kind::null;
  std::string text;
  std::vector<Setting> items;                            ///< items of a list
  std::vector<std::pair<std::string, Setting>> members;  ///< members of a map, in order of first appearance
  Place place;                                           ///< place of the last assignment
  std::optional<Unknown> unknown;  ///< why the value is unknown; if it is known, the condition under which it applies

  bool operator==(const Setting&) const = default;
};

/// A tree and the sources that its places refer to.
struct SettingTree {
  std::vector<std::string> sources;
  Setting root = {.kind = Setting::Kind::map, .text = {}, .items = {}, .members = {}, .place = {}, .unknown = {}};
};

/// Returns the member of a map, or null if it is missing.
const Setting* find_member(const Setting& map, std::string_view name);
Setting* find_member(Setting& map, std::string_view name);
/// Returns the value at a path (`actor.optim.lr`, `files[0]`, `files.0`), or null if it is missing.
const Setting* find_setting(const Setting& root, std::string_view path);
/// Splits a path into names: `a.b[0]` becomes `a`, `b`, `0`.
std::vector<std::string> names_of_path(std::string_view path);

/// Sets the value at a path. Missing values, nulls and strings above it become maps. Returns false if a value above it
/// is a boolean, a number or unknown, or if a list has no such item.
bool put_setting(Setting& root, std::string_view path, Setting value);
/// Removes the member of a map at a path. Returns false if it does not exist.
bool remove_setting(Setting& root, std::string_view path);
/// Merges `over` into `under`. Maps are merged member by member. Any other value is replaced, and so is a map if its
/// counterpart in `over` has NeMo-RL's member `_override_`.
void merge_setting(Setting& under, Setting over);

/// Converts the root of a document by PyYAML's rules: plain `yes`, `On` and `True` are booleans, `1_000` is a number,
/// and `<<` merges a map. `content` is the text of the document, `source` the index of its file. Returns an Error if
/// the document, with aliases expanded, has too many values.
base::Result<Setting> setting_of(const base::Document& document, std::string_view content, int source);

/// Formats a value for messages: "16", "true", "null", "[a, b]". An unknown value is "?".
std::string value_text(const Setting& setting);

/// Formats a value as JSON in one line. An unknown value becomes a string in angle brackets.
std::string to_json(const Setting& setting);

}  // namespace dovetail::syntax
