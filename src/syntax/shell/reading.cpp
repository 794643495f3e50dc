#include <optional>
#include <utility>

#include "syntax/shell/builtins.h"
#include "syntax/shell/parser.h"

namespace dovetail::syntax {
namespace {

/// The next line of the input; nothing at its end. What follows an unknown piece is unknown as well.
std::optional<Text> next_line(Shell& shell, bool& ended) {
  Text& input = *shell.state.input;
  ended = false;
  if (is_empty(input)) return std::nullopt;
  Text line;
  if (!input.pieces.front().unknown) {
    std::string& text = input.pieces.front().text;
    if (const std::size_t end = text.find('\n'); end != std::string::npos) {
      append(line, std::string_view(text).substr(0, end));
      text.erase(0, end + 1);
      if (text.empty()) input.pieces.erase(input.pieces.begin());
      return line;
    }
  }
  line = std::exchange(input, {});
  if (is_known(line)) {
    ended = true;
    return line;
  }
  shell.state.input.reset();
  return text_of(first_unknown(line));
}

}  // namespace

Flow run_read(Shell& shell, const ShellCall& call) {
  std::vector<std::string> names;
  bool to_list = false;
  bool whole = false;
  for (std::size_t i = 1; i < call.words.size(); ++i) {
    const std::string_view word = plain(call.words, i);
    if (word.empty() || word[0] != '-') {
      if (is_variable_name(word)) names.emplace_back(word);
    } else if (word.find('a') != std::string_view::npos) {
      to_list = true;
    } else if (word.ends_with('d')) {
      whole = plain(call.words, ++i).empty();
    } else if (word.find_first_of("ptnNu") != std::string_view::npos) {
      ++i;
    }
  }
  if (names.empty()) names.emplace_back("REPLY");
  const Unknown lost{.place = call.place, .what = "what `read` reads", .variable = {}, .many = false};
  bool ended = false;
  std::optional<Text> line;
  if (!shell.state.input)
    line = text_of(lost);
  else if (whole)
    line = std::exchange(*shell.state.input, {});
  else
    line = next_line(shell, ended);
  shell.state.status = status_of(line && !ended && !whole ? 0 : 1);
  const Text text = line.value_or(Text());
  if (!is_known(text))
    shell.state.status = {.code = 0, .unknown = first_unknown(text), .is_effect = false, .defaulted = {}};
  if (to_list) {
    shell.state.variables[names.front()] = list_variable(split(shell, text, call.place));
    return {};
  }
  std::vector<std::string> fields;
  if (is_known(text) && names.front() != "REPLY") fields = split_off(shell, characters(text), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_whole = !is_known(text) || names.front() == "REPLY";
    assign_text(shell, names[i], is_whole ? text : text_of(i < fields.size() ? fields[i] : ""), call.place);
  }
  return {};
}

Flow run_mapfile(Shell& shell, const ShellCall& call) {
  std::string name(plain(call.words, call.words.size() - 1));
  if (!is_variable_name(name) || call.words.size() == 1) name = "MAPFILE";
  Words lines;
  bool ended = false;
  if (!shell.state.input) {
    lines.push_back(
        {.text = text_of(Unknown{.place = call.place, .what = "the lines of the input", .variable = {}, .many = true}),
         .place = call.place,
         .doubt = {}});
  } else {
    while (shell.state.input && spend(shell, call.place, 1)) {
      std::optional<Text> line = next_line(shell, ended);
      if (!line) break;
      if (!is_known(*line)) line->pieces.front().unknown->many = true;
      lines.push_back({.text = std::move(*line), .place = call.place, .doubt = {}});
    }
  }
  shell.state.variables[name] = list_variable(std::move(lines));
  return done(shell);
}

}  // namespace dovetail::syntax
