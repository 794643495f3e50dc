#include "trainers/export/yaml_edit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "base/document.h"
#include "base/quantity.h"
#include "base/utf8.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view blanks = " \t";

std::size_t end_of_line(std::string_view text, std::size_t at) { return std::min(text.find('\n', at), text.size()); }

std::size_t begin_of_line(std::string_view text, std::size_t at) { return at == 0 ? 0 : text.rfind('\n', at - 1) + 1; }

std::size_t offset_of(std::string_view text, const base::Node& node) {
  std::size_t begin = 0;
  for (int line = 1; line < node.line(); ++line) begin = std::min(end_of_line(text, begin) + 1, text.size());
  return std::min(begin + static_cast<std::size_t>(std::max(node.column() - 1, 0)), text.size());
}

/// Returns the end of the quoted scalar that starts at `at`.
std::size_t end_of_yaml_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size()) {
    const bool doubled = quote == '\'' && text[at] == quote && at + 1 < text.size() && text[at + 1] == quote;
    if (doubled || (quote == '"' && text[at] == '\\'))
      ++at;
    else if (text[at] == quote)
      return at + 1;
    ++at;
  }
  return text.size();
}

/// Returns the end, on its first line, of the plain scalar that starts at `at`.
std::size_t end_of_plain(std::string_view text, std::size_t at, bool in_flow) {
  const std::size_t feed = end_of_line(text, at);
  std::size_t end = at;
  for (; end < feed; ++end) {
    if (text[end] == '#' && end > at && blanks.find(text[end - 1]) != std::string_view::npos) break;
    if (text[end] == '#' && end == at) break;
    if (in_flow && std::string_view(",{}[]").find(text[end]) != std::string_view::npos) break;
  }
  while (end > at && (blanks.find(text[end - 1]) != std::string_view::npos || text[end - 1] == '\r')) --end;
  return end;
}

/// Returns the end of the list or map in brackets that starts at `at`.
std::size_t end_of_flow(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    const bool begins = std::string_view(" \t\n,:[{").find(at == 0 ? '\n' : text[at - 1]) != std::string_view::npos;
    if ((c == '"' || c == '\'') && begins) {
      at = end_of_yaml_quoted(text, at);
      continue;
    }
    if (c == '#' && begins) {
      at = end_of_line(text, at);
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return at + 1;
    ++at;
  }
  return text.size();
}

/// Positions of a member in the text.
struct Written {
  std::size_t key = 0;    ///< start of the key
  std::size_t begin = 0;  ///< start of the value; position after the colon if the value is missing
  std::size_t end = 0;    ///< end of the value on the key's line, or of its brackets
  bool is_missing = false;
  bool is_alias = false;
  bool is_block = false;  ///< on the lines below the key, or a block scalar
};

Written written_member(std::string_view text, const base::Node& map, std::size_t index, bool in_flow) {
  Written member;
  member.key = offset_of(text, map.key_node(index));
  std::size_t at = member.key;
  at = at < text.size() && (text[at] == '"' || text[at] == '\'') ? end_of_yaml_quoted(text, at)
                                                                 : at + map.key(index).size();
  at = std::min(text.find(':', std::min(at, text.size())), text.size());
  const std::size_t after = std::min(at + 1, text.size());
  at = std::min(text.find_first_not_of(blanks, after), text.size());
  const char c = at < text.size() ? text[at] : '\n';
  if (c == '\n' || c == '\r' || c == '#' || (in_flow && (c == ',' || c == '}'))) {
    member.begin = member.end = after;
    member.is_missing = map.value(index).is_null();
    member.is_block = !member.is_missing;
    return member;
  }
  member.begin = at;
  member.is_alias = c == '*';
  member.is_block = c == '&' || c == '|' || c == '>';
  member.end = c == '"' || c == '\''  ? end_of_yaml_quoted(text, at)
               : c == '[' || c == '{' ? end_of_flow(text, at)
                                      : end_of_plain(text, at, in_flow);
  return member;
}

bool is_plain_value(std::string_view value) {
  return value == "null" || value == "true" || value == "false" || base::is_decimal(value);
}

bool is_map_text(std::string_view value) { return value.starts_with('{') && value.ends_with('}'); }

/// Returns a value as YAML. `quote` is the quote of the value that it replaces, or 0.
std::string yaml_value(const std::string& value, char quote) {
  if (is_plain_value(value) || is_map_text(value)) return value;
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-:.()|+/").find(c) != std::string_view::npos;
  };
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), is_safe) &&
                     std::string_view("-:|").find(value.front()) == std::string_view::npos && value.back() != ':';
  if (quote == 0 && plain) return value;
  if (quote != '\'') return base::json_string(value);
  std::string quoted = "'";
  for (const char c : value) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

/// Parses a value as written by yaml_value.
base::Result<syntax::Setting> setting_of_value(const std::string& value) {
  const std::string text = yaml_value(value, 0);
  DOVETAIL_TRY(const base::Document document, base::parse_yaml(text, "a value"));
  return syntax::setting_of(document, text, 0);
}

std::string flow_text(const syntax::Setting& setting) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  switch (setting.kind) {
    case syntax::Setting::Kind::list:
      for (const syntax::Setting& item : setting.items) add(flow_text(item));
      return "[" + text + "]";
    case syntax::Setting::Kind::map:
      for (const auto& [name, value] : setting.members) add(yaml_value(name, 0) + ": " + flow_text(value));
      return "{" + text + "}";
    case syntax::Setting::Kind::string:
      return base::json_string(setting.text);
    case syntax::Setting::Kind::boolean:
    case syntax::Setting::Kind::number:
      return setting.text;
    default:
      return "null";
  }
}

/// Compares values. The order of members does not matter.
bool are_alike(const syntax::Setting& a, const syntax::Setting& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size() || a.members.size() != b.members.size())
    return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!are_alike(a.items[i], b.items[i])) return false;
  return std::all_of(a.members.begin(), a.members.end(), [&b](const auto& member) {
    const syntax::Setting* const other = find_member(b, member.first);
    return other != nullptr && are_alike(member.second, *other);
  });
}

/// Edits one value after another in a file.
class YamlEditor {
 public:
  YamlEditor(std::string text, const std::string& path, const syntax::SettingTree& resolved)
      : text_(std::move(text)), path_(path), resolved_(resolved) {}

  base::Status put(const YamlEdit& edit) {
    if (!document_) DOVETAIL_CHECK(read());
    DOVETAIL_TRY(syntax::Setting wanted, setting_of_value(edit.value));
    if (const syntax::Setting* const now = find_setting(now_, edit.key); now != nullptr && are_alike(*now, wanted))
      return {};
    const base::Node root = document_->root();
    if (!root.is_map()) return root.error("the file is not a map; accepted: a configuration");
    syntax::Setting expected = now_;
    DOVETAIL_CHECK(put_below(root, syntax::names_of_path(edit.key), edit, expected));
    put_setting(expected, edit.key, std::move(wanted));
    DOVETAIL_CHECK(read());
    if (are_alike(now_, expected)) return {};
    return document_->root().error(fmt::format(
        "`{}` shares its value with other keys by an anchor, so it cannot change alone; accepted: a file in "
        "which it has a separate value",
        edit.key));
  }

  std::string take() && { return std::move(text_); }

 private:
  /// Parses the text.
  base::Status read() {
    DOVETAIL_TRY(document_, base::parse_yaml(text_, path_));
    DOVETAIL_TRY(now_, syntax::setting_of(*document_, text_, 0));
    return {};
  }

  base::Status put_below(base::Node map, const std::vector<std::string>& names, const YamlEdit& edit,
                         syntax::Setting& expected) {
    bool in_flow = false;
    for (std::size_t depth = 0; depth < names.size(); ++depth) {
      in_flow = in_flow || is_flow(map);
      const std::optional<std::size_t> index = index_of(map, names[depth]);
      if (!index) {
        insert(map, std::span(names).subspan(depth), edit, in_flow);
        return {};
      }
      const Written member = written_member(text_, map, *index, in_flow);
      const base::Node value = map.value(*index);
      const bool last = depth + 1 == names.size();
      if (!last && value.is_map() && !member.is_alias) {
        map = value;
        continue;
      }
      if (last) return replace(member, value, yaml_value(edit.value, quote_of(member)), edit.comment);
      return remove_conflicts(member, value, names, depth, edit, expected);
    }
    return {};
  }

  char quote_of(const Written& member) const {
    const char c = member.begin < text_.size() ? text_[member.begin] : '\0';
    return !member.is_missing && (c == '"' || c == '\'') ? c : '\0';
  }

  static std::optional<std::size_t> index_of(const base::Node& map, std::string_view name) {
    for (std::size_t i = 0; i < map.size(); ++i)
      if (map.key(i) == name) return i;
    return std::nullopt;
  }

  /// Returns the start of a map, after its anchor.
  std::size_t begin_of(const base::Node& map) const {
    std::size_t at = offset_of(text_, map);
    if (at < text_.size() && text_[at] == '&') at = std::min(text_.find_first_of(" \n", at), text_.size());
    return std::min(text_.find_first_not_of(blanks, at), text_.size());
  }

  bool is_flow(const base::Node& map) const {
    const std::size_t at = begin_of(map);
    return at < text_.size() && text_[at] == '{' && (map.size() == 0 || offset_of(text_, map.key_node(0)) > at);
  }

  base::Status replace(const Written& member, const base::Node& value, const std::string& text,
                       const std::string& comment) {
    if (member.is_block || (value.is_string() && !is_whole(member, value)))
      return value.error(
          "the value has an anchor or extends over several lines; accepted: a value on the line of its key");
    text_.replace(member.begin, member.end - member.begin, member.is_missing ? " " + text : text);
    add_comment(member.key, comment);
    return {};
  }

  /// Returns whether a string ends on its first line.
  bool is_whole(const Written& member, const base::Node& value) const {
    if (member.is_alias || quote_of(member) != '\0') return true;
    return value.text() == std::string_view(text_).substr(member.begin, member.end - member.begin);
  }

  /// Replaces a member that refers to a map, or is null, by a map in brackets that contains the value.
  base::Status remove_conflicts(const Written& member, const base::Node& value, const std::vector<std::string>& names,
                                std::size_t depth, const YamlEdit& edit, syntax::Setting& expected) {
    const std::string key =
        fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(depth) + 1, "."));
    const syntax::Setting* const present = find_setting(resolved_.root, key);
    syntax::Setting map{
        .kind = syntax::Setting::Kind::map, .text = {}, .items = {}, .members = {}, .place = {}, .unknown = {}};
    if (value.is_list() || value.is_number() || value.is_boolean())
      return value.error(fmt::format("`{}` is not a map; accepted: a map with `{}`", key, names.back()));
    if (!value.is_null() && present != nullptr && present->kind == syntax::Setting::Kind::map) map = *present;
    if (!value.is_null() && map.members.empty())
      return value.error(
          fmt::format("`{}` does not refer to a known map; accepted: a map with `{}`", key, names.back()));
    DOVETAIL_TRY(syntax::Setting put, setting_of_value(edit.value));
    put_setting(map,
                fmt::format("{}", fmt::join(names.begin() + static_cast<std::ptrdiff_t>(depth) + 1, names.end(), ".")),
                std::move(put));
    const std::string text = flow_text(map);
    DOVETAIL_TRY(syntax::Setting parsed, setting_of_value(text));
    put_setting(expected, key, std::move(parsed));
    return replace(member, value, text, edit.comment);
  }

  void insert(const base::Node& map, std::span<const std::string> names, const YamlEdit& edit, bool in_flow) {
    const std::string value = yaml_value(edit.value, in_flow ? '"' : '\0');
    if (in_flow) {
      const std::size_t brace = begin_of(map);
      std::string text = value;
      for (std::size_t i = names.size(); i-- > 0;)
        text = i + 1 < names.size() ? fmt::format("{}: {{{}}}", names[i], text) : fmt::format("{}: {}", names[i], text);
      if (map.size() > 0) text += ", ";
      text_.insert(brace + 1, text);
      add_comment(brace, edit.comment);
      return;
    }
    const auto [at, column] = place_in(map);
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
      text += fmt::format("{}{}:{}{}", std::string(column + 2 * i, ' '), names[i],
                          i + 1 < names.size() ? "" : " " + value, line_end());
    const bool no_feed = at > 0 && text_[at - 1] != '\n';
    if (no_feed) text = line_end() + text.substr(0, text.size() - line_end().size());
    text_.insert(at, text);
    add_comment(at + (no_feed ? line_end().size() : 0), edit.comment);
  }

  std::string line_end() const { return text_.find("\r\n") != std::string::npos ? "\r\n" : "\n"; }

  struct Insertion {
    std::size_t at = 0;      ///< start of a line, or the end of the text
    std::size_t column = 0;  ///< number of blanks before the key
  };

  /// Returns the position after the last member that ends on its own line, or before the first member.
  Insertion place_in(const base::Node& map) const {
    const std::size_t first = offset_of(text_, map.key_node(0));
    Insertion place{.at = begin_of_line(text_, first), .column = first - begin_of_line(text_, first)};
    for (std::size_t i = 0; i < map.size(); ++i) {
      const Written member = written_member(text_, map, i, false);
      const base::Node value = map.value(i);
      if (member.is_block || (value.is_string() && !is_whole(member, value))) continue;
      place.at = std::min(end_of_line(text_, member.end) + 1, text_.size());
    }
    return place;
  }

  /// Inserts a comment above the line that contains `at`.
  void add_comment(std::size_t at, const std::string& comment) {
    if (comment.empty()) return;
    const std::size_t line = begin_of_line(text_, at);
    const std::size_t key = std::min(text_.find_first_not_of(' ', line), text_.size());
    text_.insert(line, fmt::format("{}# {}{}", std::string(key - line, ' '), comment, line_end()));
  }

  std::string text_;
  const std::string& path_;
  const syntax::SettingTree& resolved_;
  std::optional<base::Document> document_;
  syntax::Setting now_ = {};
};

}  // namespace

base::Result<std::string> edit_yaml(std::string_view content, const std::string& path,
                                    const std::vector<YamlEdit>& edits, const syntax::SettingTree& resolved) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  const bool marked = content.starts_with(mark);
  YamlEditor editor(std::string(content.substr(marked ? mark.size() : 0)), path, resolved);
  for (const YamlEdit& edit : edits) DOVETAIL_CHECK(editor.put(edit));
  return (marked ? std::string(mark) : std::string()) + std::move(editor).take();
}

}  // namespace dovetail::trainers
