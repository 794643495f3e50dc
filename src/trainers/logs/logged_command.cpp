#include "trainers/logs/logged_command.h"

#include <algorithm>
#include <array>
#include <vector>

namespace dovetail::trainers {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(" \t\r"); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t\r", end);
  }
  return words;
}

/// NAME=...
bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 && (word.front() < '0' || word.front() > '9') &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_name_character);
}

/// Whether a line sets one variable and does nothing else, so that any log may have it among others.
bool sets_variable(std::string_view text) {
  std::vector<std::string_view> words = words_of(text);
  if (!words.empty() && words.front() == "export") words.erase(words.begin());
  const bool alone = !words.empty() && (words.size() == 1 || words[1].starts_with('#'));
  return alone && is_assignment(words.front()) && words.front().find_first_of("`();|&<>") == std::string_view::npos &&
         std::count(words.front().begin(), words.front().end(), '"') % 2 == 0 &&
         std::count(words.front().begin(), words.front().end(), '\'') % 2 == 0;
}

/// Whether the words start a program, and one of them is a trainer's.
bool starts_trainer(std::string_view text, const syntax::TrainerTest& is_trainer) {
  constexpr std::array<std::string_view, 9> starters{"python",     "uv",   "torchrun", "ray", "deepspeed",
                                                     "accelerate", "srun", "nohup",    "env"};
  const std::vector<std::string_view> words = words_of(text);
  const auto first = std::find_if_not(words.begin(), words.end(), is_assignment);
  if (first == words.end()) return false;
  const std::string_view program = first->substr(first->rfind('/') + 1);
  if (std::none_of(starters.begin(), starters.end(), [&](std::string_view each) {
        return each == "python" ? program.starts_with(each) : program == each;
      }))
    return false;
  for (auto word = std::next(first); word != words.end(); ++word) {
    const bool is_module = *std::prev(word) == "-m";
    if ((is_module || word->ends_with(".py")) && is_trainer({std::string(*word), is_module})) return true;
  }
  return false;
}

/// Without what `set -x` puts before a command, its columns kept.
std::string untraced(std::string_view line) {
  std::string text(line);
  std::size_t end = text.find_first_not_of('+');
  if (end == std::string::npos || end == 0 || text[end] != ' ') return text;
  std::fill(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  return text;
}

}  // namespace

std::optional<LoggedCommand> find_logged_command(std::string_view content, const syntax::TrainerTest& is_trainer) {
  LoggedCommand found;
  bool is_within = false;
  for (int number = 1; !content.empty(); ++number) {
    const std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(line.size() + 1, content.size()));
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
