#include "trainers/logs/printed_configuration.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/document.h"
#include "trainers/logs/console.h"
#include "trainers/logs/printed_value.h"

namespace dovetail::trainers {
namespace {

/// No configuration has more lines.
constexpr std::size_t max_lines = 20'000;

std::string printed_key(std::string_view key) { return fmt::format("'{}':", key); }

/// How many brackets a line of pprint leaves open; no text goes over its end.
int brackets_in(std::string_view text) {
  int open = 0;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\\')
        ++at;
      else if (c == quote)
        quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{' || c == '[' || c == '(') {
      ++open;
    } else if (c == '}' || c == ']' || c == ')') {
      --open;
    }
  }
  return open;
}

/// Gathers the lines of the object with a key into one that holds them all: those of one process.
class Gatherer {
 public:
  explicit Gatherer(std::string_view key) : key_(printed_key(key)) {}

  void take(const ConsoleLine& line) {
    const std::string process(ray_prefix(line.text));
    if (process_) {
      if (process == *process_ && !is_done_) add(line, process.size());
      return;
    }
    const std::size_t key = line.text.find(key_);
    const std::optional<std::size_t> brace = brace_of(line.text, process.size(), key);
    Opened& opened = opened_[process];
    if (brace) opened = {*brace, {}};
    if (brace || (!opened.lines.empty() && opened.lines.size() < max_lines)) opened.lines.push_back(line);
    if (key == std::string::npos || opened.lines.empty()) return;
    process_ = process;
    for (const ConsoleLine& each : opened.lines) add(each, gathered_.text.empty() ? opened.brace : process.size());
  }

  /// All lines from the first one's brace on; nothing where the key stands in no object.
  std::optional<ConsoleLine> object() && {
    if (gathered_.text.empty()) return std::nullopt;
    gathered_.lines.push_back(last_line_);
    gathered_.columns.push_back(last_column_);
    return std::move(gathered_);
  }

 private:
  /// The lines of a process from the last one on that begins an object.
  struct Opened {
    std::size_t brace = 0;  ///< where in the first of them
    std::vector<ConsoleLine> lines;
  };

  /// Where an object begins in a line: the one that the key is the first member of, or that the line begins with. One
  /// that is further in is part of another.
  static std::optional<std::size_t> brace_of(std::string_view text, std::size_t from, std::size_t key) {
    const std::size_t before = key == std::string_view::npos ? key : text.find_last_not_of(' ', key - 1);
    if (key != std::string_view::npos && key > 0 && before != std::string_view::npos && text[before] == '{')
      return before;
    const std::size_t first = from > 0 && text.substr(from).starts_with(' ') ? from + 1 : from;
    return text.substr(first).starts_with('{') ? std::optional(first) : std::nullopt;
  }

  void add(const ConsoleLine& line, std::size_t from) {
    if (is_done_) return;
    if (!gathered_.text.empty()) append('\n', line.line, line.column_at(from));
    gathered_.path = line.path;
    for (std::size_t at = from; at < line.text.size(); ++at) append(line.text[at], line.line, line.column_at(at));
    last_line_ = line.line;
    last_column_ = line.column_at(line.text.size());
    open_ += brackets_in(std::string_view(line.text).substr(from));
    is_done_ = open_ <= 0 || ++lines_ >= max_lines;
  }

  void append(char c, int line, int column) {
    gathered_.text += c;
    gathered_.lines.push_back(line);
    gathered_.columns.push_back(column);
  }

  std::string key_;
  std::map<std::string, Opened> opened_;  // of each process, until the key is met
  std::optional<std::string> process_;    // that prints the object
  ConsoleLine gathered_;
  int last_line_ = 0;
  int last_column_ = 0;
  int open_ = 0;  // brackets
  std::size_t lines_ = 0;
  bool is_done_ = false;
};

syntax::Setting setting_of_word(const std::string& word) {
  syntax::Setting setting;
  setting.text = word;
  if (word == "None") return syntax::Setting{};
  setting.kind = syntax::Setting::Kind::string;
  if (word == "True" || word == "False") {
    setting.kind = syntax::Setting::Kind::boolean;
    setting.text = word == "True" ? "true" : "false";
  } else if (logged_number(word)) {
    setting.kind = syntax::Setting::Kind::number;
  }
  return setting;
}

syntax::Setting setting_of(const ConsoleLine& text, const PrintedValue& value) {
  syntax::Setting setting;
  switch (value.kind) {
    case PrintedValue::Kind::word:
      setting = setting_of_word(value.text);
      break;
    case PrintedValue::Kind::text:
      setting.kind = syntax::Setting::Kind::string;
      setting.text = value.text;
      break;
    case PrintedValue::Kind::list:
      setting.kind = syntax::Setting::Kind::list;
      for (const PrintedValue& item : value.items) setting.items.push_back(setting_of(text, item));
      break;
    case PrintedValue::Kind::map:
      setting.kind = syntax::Setting::Kind::map;
      for (std::size_t i = 0; i < value.items.size(); ++i)
        setting.members.emplace_back(value.keys[i], setting_of(text, value.items[i]));
      break;
  }
  setting.place = {.source = 0, .line = text.line_at(value.begin), .column = text.column_at(value.begin)};
  return setting;
}

/// An object on many lines is all that its last one says, and what goes on as an object does is a part of it: where it
/// does not, a bracket or a line within it is lost.
base::Status check_end(const ConsoleLine& object, std::size_t end) {
  const std::size_t next = object.text.find_first_not_of(" \t\n", end);
  if (next == std::string::npos) return {};
  const bool has_lines = object.text.find('\n') < end;
  if (!has_lines && std::string_view(",:]})'\"").find(object.text[next]) == std::string_view::npos) return {};
  return object.error(next, fmt::format("{} stands behind the end of the object; accepted: nothing",
                                        base::quote(std::string_view(object.text).substr(next, 20))));
}

}  // namespace

bool has_printed_configuration(std::string_view content, std::string_view key) {
  return content.find(printed_key(key)) != std::string_view::npos;
}

base::Result<syntax::Setting> read_printed_configuration(std::string_view content, const std::string& path,
                                                         std::string_view key) {
  Gatherer gatherer(key);
  DOVETAIL_CHECK(for_each_console_line(content, path, [&](const ConsoleLine& line, bool /*is_open*/) {
    gatherer.take(line);
    return base::Status();
  }));
  const std::optional<ConsoleLine> object = std::move(gatherer).object();
  if (!object)
    return base::Error{base::Failure::bad_input, path, 0, 0,
                       fmt::format("{} stands in no object; accepted: a log with the configuration that the trainer "
                                   "prints at its start",
                                   base::quote(key))};
  DOVETAIL_TRY(const PrintedValue map, read_printed_map(*object, 0));
  DOVETAIL_CHECK(check_end(*object, map.end));
  return setting_of(*object, map);
}

}  // namespace dovetail::trainers
