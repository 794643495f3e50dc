#include "trainers/export/flag_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace dovetail::trainers {
namespace {

/// A piece of the script that is replaced.
struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

/// Where a place is in the script; its end where it has no such line.
std::size_t offset_of(std::string_view script, const Place& place) {
  std::size_t begin = 0;
  for (int line = 1; line < place.line; ++line) {
    const std::size_t feed = script.find('\n', begin);
    if (feed == std::string_view::npos) return script.size();
    begin = feed + 1;
  }
  return std::min(begin + static_cast<std::size_t>(std::max(place.column - 1, 0)), script.size());
}

/// The end of a quoted piece that begins at `at`.
std::size_t end_of_quoted(std::string_view script, std::size_t at) {
  const char quote = script[at++];
  while (at < script.size() && script[at] != quote) at += quote == '"' && script[at] == '\\' ? 2U : 1U;
  return std::min(at + 1, script.size());
}

/// The end of the word of a shell that begins at `at`.
std::size_t end_of_word(std::string_view script, std::size_t at) {
  int depth = 0;
  while (at < script.size()) {
    const char c = script[at];
    if (c == '\'' || c == '"') {
      at = end_of_quoted(script, at);
      continue;
    }
    if (c == '\\') {
      if (at + 1 >= script.size() || script[at + 1] == '\n') break;
      at += 2;
      continue;
    }
    if (c == '(' || c == '{') ++depth;
    if ((c == ')' || c == '}') && depth-- == 0) break;
    if (depth == 0 && std::string_view(" \t\n;&|<>").find(c) != std::string_view::npos) break;
    ++at;
  }
  return at;
}

/// A word without what else is on its line, where that is nothing but the mark that the command goes on.
Edit removal(std::string_view script, std::size_t begin, std::size_t end) {
  const std::size_t line = begin == 0 ? 0 : script.rfind('\n', begin - 1) + 1;
  const std::size_t feed = std::min(script.find('\n', end), script.size());
  const auto is_blank = [&](std::size_t from, std::size_t to) {
    return script.substr(from, to - from).find_first_not_of(" \t\\") == std::string_view::npos;
  };
  if (is_blank(line, begin) && is_blank(end, feed) && feed < script.size()) return {line, feed + 1, {}};
  while (begin > line && (script[begin - 1] == ' ' || script[begin - 1] == '\t')) --begin;
  return {begin, end, {}};
}

/// Whether a word is the flag, by any of its names; `--name=value` is.
bool is_flag(const Word& word, const Flag& flag) {
  if (!is_known(word.text)) return false;
  const std::string_view text = characters(word.text);
  const std::string_view name = text.substr(0, text.find('='));
  if (name == flag.name) return true;
  std::string_view names = flag.older_names;
  while (!names.empty()) {
    const std::size_t bar = std::min(names.find('|'), names.size());
    if (name == names.substr(0, bar)) return true;
    names.remove_prefix(std::min(bar + 1, names.size()));
  }
  return false;
}

class FlagEditor {
 public:
  FlagEditor(std::string_view script, const Launch& launch, std::span<const Flag> flags,
             const std::vector<std::string>& sources)
      : script_(script), launch_(launch), flags_(flags), sources_(sources) {}

  base::Status change(const Change& change) {
    const auto flag =
        std::find_if(flags_.begin(), flags_.end(), [&](const Flag& each) { return each.name == change.set.key; });
    const std::optional<std::size_t> at = flag == flags_.end() ? std::nullopt : last_of(*flag);
    if (!at) {
      if (!change.removes)
        added_ += fmt::format(" \\\n   {}{}{}", change.set.key, change.set.value.empty() ? "" : " ", change.set.value);
      return {};
    }
    const Word& word = launch_.arguments[*at];
    DOVETAIL_CHECK(check_source(word, change.set.key));
    const std::size_t begin = offset_of(script_, word.place);
    const std::size_t end = end_of_word(script_, begin);
    if (change.removes) {
      edits_.push_back(removal(script_, begin, end));
    } else if (!change.set.value.empty()) {
      const std::size_t equals = script_.substr(begin, end - begin).find('=');
      if (equals != std::string_view::npos) {
        edits_.push_back({begin + equals + 1, end, change.set.value});
      } else if (*at + 1 < launch_.arguments.size()) {
        const Word& value = launch_.arguments[*at + 1];
        DOVETAIL_CHECK(check_source(value, change.set.key));
        const std::size_t from = offset_of(script_, value.place);
        edits_.push_back({from, end_of_word(script_, from), change.set.value});
      }
    }
    return {};
  }

  std::string take() && {
    if (!added_.empty()) {
      const std::size_t end = end_of_word(script_, offset_of(script_, last_place()));
      edits_.push_back({end, end, added_});
    }
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.begin > b.begin; });
    std::string text(script_);
    for (const Edit& edit : edits_) text.replace(edit.begin, edit.end - edit.begin, edit.text);
    return text;
  }

 private:
  std::optional<std::size_t> last_of(const Flag& flag) const {
    for (std::size_t at = launch_.arguments.size(); at-- > 0;)
      if (is_flag(launch_.arguments[at], flag)) return at;
    return std::nullopt;
  }

  base::Status check_source(const Word& word, std::string_view flag) const {
    if (word.place.source == 0) return {};
    return base::Error{
        base::Failure::bad_input, sources_[static_cast<std::size_t>(word.place.source)], word.place.line,
        word.place.column,
        fmt::format("{} stands in a file that the script reads; accepted: a script with flags of its own", flag)};
  }

  Place last_place() const {
    for (std::size_t at = launch_.arguments.size(); at-- > 0;)
      if (launch_.arguments[at].place.source == 0) return launch_.arguments[at].place;
    return launch_.place;
  }

  std::string_view script_;
  const Launch& launch_;
  std::span<const Flag> flags_;
  const std::vector<std::string>& sources_;
  std::vector<Edit> edits_;
  std::string added_;
};

}  // namespace

base::Result<std::string> edit_flags(std::string_view script, const Launch& launch, std::span<const Flag> flags,
                                     const std::vector<Change>& changes, const std::vector<std::string>& sources) {
  FlagEditor editor(script, launch, flags, sources);
  for (const Change& change : changes) {
    DOVETAIL_CHECK(editor.change(change));
    for (const Setter& more : change.with) DOVETAIL_CHECK(editor.change({.set = more}));
  }
  return std::move(editor).take();
}

}  // namespace dovetail::trainers
