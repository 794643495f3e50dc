#include "trainers/logs/logged_configuration.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/document.h"
#include "trainers/logs/console.h"
#include "trainers/logs/printed_object.h"

namespace dovetail::trainers {
namespace {

/// Maximum number of lines of a configuration.
constexpr std::size_t max_lines = 20'000;

std::string printed_key(std::string_view key) { return fmt::format("'{}':", key); }

/// Returns the number of brackets that a line of pprint leaves open. No string extends over the end of a line.
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

/// Joins the lines of the object that contains a key into one line. One process prints the object.
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

  /// Returns the joined lines, from the opening brace on, or nullopt if the key is not in an object.
  std::optional<ConsoleLine> object() && {
    if (gathered_.text.empty()) return std::nullopt;
    gathered_.lines.push_back(last_line_);
    gathered_.columns.push_back(last_column_);
    return std::move(gathered_);
  }

 private:
  /// Lines of a process since the last line that opens an object.
  struct Opened {
    std::size_t brace = 0;  ///< position of the brace in the first line
    std::vector<ConsoleLine> lines;
  };

  /// Returns the position of an object in a line: an object whose first member is the key, or one at the start of the
  /// line. Any other object is part of another object.
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
  std::map<std::string, Opened> opened_;  // by process, until the key is found
  std::optional<std::string> process_;    // the process that prints the object
  ConsoleLine gathered_;
  int last_line_ = 0;
  int last_column_ = 0;
  int open_ = 0;  // open brackets
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

/// Returns an Error if text that looks like part of the object follows its end, because a bracket or a line is then
/// missing.
base::Status check_end(const ConsoleLine& object, std::size_t end) {
  const std::size_t next = object.text.find_first_not_of(" \t\n", end);
  if (next == std::string::npos) return {};
  const bool has_lines = object.text.find('\n') < end;
  if (!has_lines && std::string_view(",:]})'\"").find(object.text[next]) == std::string_view::npos) return {};
  return object.error(next, fmt::format("unexpected {} after the end of the object; accepted: one complete object",
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
    return base::Error{
        base::Failure::bad_input, path, 0, 0,
        fmt::format("found {}, but not the start of the printed configuration that contains it; accepted: a "
                    "log with the whole configuration, which the trainer prints at its start",
                    base::quote(key))};
  DOVETAIL_TRY(const PrintedValue map, read_printed_map(*object, 0));
  DOVETAIL_CHECK(check_end(*object, map.end));
  return setting_of(*object, map);
}

namespace {

std::vector<std::string_view> lines_of(std::string_view content) {
  std::vector<std::string_view> lines;
  while (!content.empty()) {
    std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(line.size() + 1, content.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

bool begins_member(std::string_view line, std::string_view key) {
  return line.starts_with(key) && line.substr(key.size()).starts_with(':');
}

/// Returns whether a line may be part of a YAML map.
bool is_yaml(std::string_view line) {
  if (line.starts_with("  ") || line.starts_with("- ")) return line.find_first_not_of(' ') != std::string_view::npos;
  const auto of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const auto name_end = std::find_if_not(line.begin(), line.end(), of_name);
  const std::string_view rest = line.substr(static_cast<std::size_t>(name_end - line.begin()));
  return rest.size() < line.size() && (rest == ":" || rest.starts_with(": "));
}

bool is_logged(std::string_view line) {
  return line.starts_with("[20") && line.find("] [INFO] [") != std::string_view::npos;
}

}  // namespace

std::optional<std::string> yaml_of_log(std::string_view content, std::string_view key) {
  const std::vector<std::string_view> lines = lines_of(content);
  const auto member =
      std::find_if(lines.begin(), lines.end(), [key](std::string_view line) { return begins_member(line, key); });
  if (std::none_of(member, lines.end(), is_logged)) return std::nullopt;
  auto begin = member;
  while (begin != lines.begin() && is_yaml(*(begin - 1))) --begin;
  const auto end = std::find_if_not(member, lines.end(), is_yaml);
  std::string yaml(static_cast<std::size_t>(begin - lines.begin()), '\n');
  for (auto line = begin; line != end; ++line) (yaml += *line) += '\n';
  return yaml;
}

namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> arguments;
  for (std::size_t at = text.find_first_not_of(" \t\r"); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r", at), text.size());
    arguments.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t\r", end);
  }
  return arguments;
}

/// Returns whether a word has the form NAME=...
bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 && (word.front() < '0' || word.front() > '9') &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_name_character);
}

/// Returns whether a line only sets one variable.
bool sets_variable(std::string_view text) {
  std::vector<std::string_view> arguments = split_words(text);
  if (!arguments.empty() && arguments.front() == "export") arguments.erase(arguments.begin());
  const bool alone = !arguments.empty() && (arguments.size() == 1 || arguments[1].starts_with('#'));
  return alone && is_assignment(arguments.front()) &&
         arguments.front().find_first_of("`();|&<>") == std::string_view::npos &&
         std::count(arguments.front().begin(), arguments.front().end(), '"') % 2 == 0 &&
         std::count(arguments.front().begin(), arguments.front().end(), '\'') % 2 == 0;
}

/// Returns whether the words start a program and one of them names a trainer.
bool starts_trainer(std::string_view text, const syntax::TrainerTest& is_trainer) {
  constexpr std::array<std::string_view, 9> starters{"python",     "uv",   "torchrun", "ray", "deepspeed",
                                                     "accelerate", "srun", "nohup",    "env"};
  const std::vector<std::string_view> arguments = split_words(text);
  const auto first = std::find_if_not(arguments.begin(), arguments.end(), is_assignment);
  if (first == arguments.end()) return false;
  const std::string_view program = first->substr(first->rfind('/') + 1);
  if (std::none_of(starters.begin(), starters.end(), [&](std::string_view each) {
        return each == "python" ? program.starts_with(each) : program == each;
      }))
    return false;
  for (auto word = std::next(first); word != arguments.end(); ++word) {
    const bool is_module = *std::prev(word) == "-m";
    if ((is_module || word->ends_with(".py")) && is_trainer({std::string(*word), is_module})) return true;
  }
  return false;
}

/// Replaces the prefix that `set -x` adds to a command by blanks, so that columns do not change.
std::string untraced(std::string_view line) {
  std::string text(line);
  std::size_t end = text.find_first_not_of('+');
  if (end == std::string::npos || end == 0 || text[end] != ' ') return text;
  std::fill(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  return text;
}

/// Returns the command of a failed verl run, whose overrides Hydra prints as a Python list: "Error executing job with
/// overrides: ['trainer.nnodes=1']". Empty for any other line.
std::string failed_command(std::string_view line) {
  constexpr std::string_view intro = "Error executing job with overrides: [";
  const std::size_t begin = line.find(intro);
  if (begin == std::string_view::npos || line.find("actor_rollout_ref.", begin) == std::string_view::npos) return "";
  std::string command = "python3 -m verl.trainer.main_ppo";
  char quote = '\0';
  for (const char c : line.substr(begin + intro.size())) {
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
      command += " '";
    } else if (quote != '\0' && c == quote) {
      quote = '\0';
      command += '\'';
    } else if (quote != '\0') {
      command += c == '\'' ? "'\\''" : std::string(1, c);
    }
  }
  return command;
}

}  // namespace

std::optional<LoggedCommand> find_logged_command(std::string_view content, const syntax::TrainerTest& is_trainer) {
  LoggedCommand found;
  bool is_within = false;
  for (int number = 1; !content.empty(); ++number) {
    const std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(line.size() + 1, content.size()));
    if (const std::string failed = failed_command(line); !failed.empty())
      return LoggedCommand{.script = found.script + failed, .line = number, .is_traced = true};
    const std::string text = untraced(line);
    if (!is_within && starts_trainer(text, is_trainer)) {
      found.line = number;
      found.is_traced = line.starts_with('+');
      is_within = true;
    }
    if (is_within || sets_variable(text)) found.script += text;
    found.script += '\n';
    if (is_within && !text.ends_with('\\')) return found;
  }
  return is_within ? std::optional(found) : std::nullopt;
}

}  // namespace dovetail::trainers
