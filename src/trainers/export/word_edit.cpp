#include "trainers/export/word_edit.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

namespace dovetail::trainers {
namespace {

using syntax::Flag;
using syntax::FlagKind;

/// A replacement of a range of the script.
struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

/// Returns the offset of a place in the script, or the script's size if it has no such line.
std::size_t offset_of(std::string_view script, const syntax::Place& place) {
  std::size_t begin = 0;
  for (int line = 1; line < place.line; ++line) {
    const std::size_t feed = script.find('\n', begin);
    if (feed == std::string_view::npos) return script.size();
    begin = feed + 1;
  }
  return std::min(begin + static_cast<std::size_t>(std::max(place.column - 1, 0)), script.size());
}

std::size_t end_of_piece(std::string_view script, std::size_t at);

/// Returns the end of text that starts at `at` and is closed by `close`, skipping nested quotes and substitutions.
std::size_t end_of_nested(std::string_view script, std::size_t at, char close) {
  while (at < script.size() && script[at] != close) at = end_of_piece(script, at);
  return std::min(at + 1, script.size());
}

/// Returns the end of double-quoted text that starts at `at`. Only substitutions and escapes are special in it.
std::size_t end_of_double_quoted(std::string_view script, std::size_t at) {
  while (at < script.size() && script[at] != '"') {
    const bool substitutes = script.substr(at).starts_with("$(") || script.substr(at).starts_with("${");
    if (substitutes)
      at = end_of_piece(script, at + 1);
    else
      at = script[at] == '\\' || script[at] == '`' ? end_of_piece(script, at) : at + 1;
  }
  return std::min(at + 1, script.size());
}

/// Returns the end of the quoted text, substitution or character that starts at `at`.
std::size_t end_of_piece(std::string_view script, std::size_t at) {
  switch (script[at]) {
    case '\\':
      return std::min(at + 2, script.size());
    case '\'':
      return std::min(script.find('\'', at + 1), script.size() - 1) + 1;
    case '"':
      return end_of_double_quoted(script, at + 1);
    case '`':
      return end_of_nested(script, at + 1, '`');
    case '(':
      return end_of_nested(script, at + 1, ')');
    case '{':
      return end_of_nested(script, at + 1, '}');
    default:
      return at + 1;
  }
}

/// Returns the end of the shell word that starts at `at`.
std::size_t end_of_word(std::string_view script, std::size_t at) {
  while (at < script.size()) {
    if (std::string_view(" \t\n;&|<>)}").find(script[at]) != std::string_view::npos) break;
    if (script[at] == '\\' && (at + 1 >= script.size() || script[at + 1] == '\n')) break;
    at = end_of_piece(script, at);
  }
  return at;
}

/// Returns the edit that removes a range, with its whole line if only a continuation mark remains on it.
Edit removal(std::string_view script, std::size_t begin, std::size_t end) {
  const std::size_t line = begin == 0 ? 0 : script.rfind('\n', begin - 1) + 1;
  const std::size_t feed = std::min(script.find('\n', end), script.size());
  const auto is_blank = [&](std::size_t from, std::size_t to) {
    return script.substr(from, to - from).find_first_not_of(" \t\\") == std::string_view::npos;
  };
  const bool goes_on = script.substr(end, feed - end).find('\\') != std::string_view::npos;
  // If the command ends here, an empty line must remain, because the previous line continues on it.
  const bool ends_it = line > 1 && script[line - 2] == '\\' && !goes_on;
  if (is_blank(line, begin) && is_blank(end, feed) && feed < script.size() && !ends_it) return {line, feed + 1, {}};
  constexpr std::string_view blanks = " \t";
  if (is_blank(line, begin)) {
    // The following text moves to the start of the removed range.
    end = std::min(script.find_first_not_of(blanks, end), script.size());
    return {begin, end, {}};
  }
  while (begin > line && blanks.find(script[begin - 1]) != std::string_view::npos) --begin;
  return {begin, end, {}};
}

/// Returns `--x` for `--no-x`, and any other name unchanged.
std::string positive_name(std::string_view name) {
  constexpr std::string_view no = "--no-";
  return name.starts_with(no) ? fmt::format("--{}", name.substr(no.size())) : std::string(name);
}

bool is_named(const Flag& flag, std::string_view name) {
  if (name == flag.name || (flag.kind == FlagKind::either && positive_name(name) == flag.name)) return true;
  std::string_view names = flag.older_names;
  while (!names.empty()) {
    const std::size_t bar = std::min(names.find('|'), names.size());
    if (name == names.substr(0, bar)) return true;
    names.remove_prefix(std::min(bar + 1, names.size()));
  }
  return false;
}

/// Returns the name of the flag in a word, `--name` or `--name=value`; empty if it is not a flag.
std::string_view flag_name(const syntax::Word& word) {
  if (!is_known(word.text)) return {};
  const std::string_view text = characters(word.text);
  return text.starts_with("--") ? text.substr(0, text.find('=')) : std::string_view();
}

/// Returns a key without Hydra's prefix.
std::string_view bare_key(std::string_view key) {
  return key.substr(std::min(key.find_first_not_of("+~"), key.size()));
}

/// Syntax of a command's words.
struct Dialect {
  std::span<const Flag> flags = {};  ///< flags of the command
  bool overrides = false;            ///< words are Hydra overrides
};

class WordEditor {
 public:
  WordEditor(std::string_view script, const syntax::Launch& launch, Dialect dialect,
             const std::vector<std::string>& sources)
      : script_(script), launch_(launch), dialect_(dialect), sources_(sources) {}

  base::Status change(const Change& change) {
    for (const std::string& name : change.without) DOVETAIL_CHECK(remove_all(name));
    if (change.removes) return remove_all(change.set.key);
    DOVETAIL_CHECK(set(change.set));
    for (const Setter& more : change.with) DOVETAIL_CHECK(set(more));
    return {};
  }

  std::string take() && {
    if (const auto last = last_own(); last && !added_.empty()) {
      const syntax::Word& word = launch_.arguments[*last];
      const std::size_t end = end_of_word(script_, begin_of(word));
      // Words before the program are elements of arrays, which need no continuation marks.
      const bool in_array = begin_of(word) < offset_of(script_, launch_.place);
      std::string text;
      for (const std::string& each : added_) text += (in_array ? "\n   " : " \\\n   ") + each;
      edits_.push_back({end, end, std::move(text)});
    }
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.begin > b.begin; });
    std::string text(script_);
    for (const Edit& edit : edits_) text.replace(edit.begin, edit.end - edit.begin, edit.text);
    return text;
  }

 private:
  std::size_t begin_of(const syntax::Word& word) const { return offset_of(script_, word.place); }

  /// Returns the flag with this name, or null.
  const Flag* flag_of(std::string_view name) const {
    const auto found = std::find_if(dialect_.flags.begin(), dialect_.flags.end(),
                                    [&](const Flag& each) { return is_named(each, name); });
    return found == dialect_.flags.end() ? nullptr : &*found;
  }

  /// Returns the flag or key in a word, as written.
  std::string_view called(const syntax::Word& word) const {
    return dialect_.overrides ? override_name(word) : flag_name(word);
  }

  /// Returns the indices of the words with this flag or key.
  std::vector<std::size_t> places_of(std::string_view name) const {
    const Flag* const flag = dialect_.overrides ? nullptr : flag_of(name);
    std::vector<std::size_t> places;
    if (flag == nullptr && !dialect_.overrides) return places;
    for (std::size_t at = 0; at < launch_.arguments.size(); ++at) {
      const std::string_view word = called(launch_.arguments[at]);
      const bool is_it = flag != nullptr ? is_named(*flag, word) : word == bare_key(name);
      if (is_it && !gone_.contains(at)) places.push_back(at);
    }
    return places;
  }

  base::Status remove_all(std::string_view name) {
    for (const std::size_t at : places_of(name)) DOVETAIL_CHECK(remove(at, name));
    return {};
  }

  base::Status set(const Setter& set) {
    const std::vector<std::size_t> places = places_of(set.key);
    if (!places.empty() && is_set_in_place(set, places.back())) return {};
    return append(set, places);
  }

  /// Returns whether the word itself is written in the script, instead of coming from another file or an expansion.
  bool is_own(std::size_t at) const {
    const syntax::Place& place = launch_.arguments[at].place;
    const auto shares = [&](const syntax::Word& each) { return each.place == place; };
    return place.source == 0 && std::count_if(launch_.arguments.begin(), launch_.arguments.end(), shares) == 1;
  }

  bool is_written(std::size_t at) const {
    const syntax::Word& word = launch_.arguments[at];
    return is_own(at) && script_.substr(begin_of(word)).starts_with(called(word));
  }

  /// Like is_written, for a word to be removed, which may have quotes and a prefix.
  bool is_written_whole(std::size_t at) const {
    if (!dialect_.overrides) return is_written(at);
    const syntax::Word& word = launch_.arguments[at];
    if (!is_own(at)) return false;
    const std::string_view text = script_.substr(begin_of(word));
    return text.substr(std::min(text.find_first_not_of("'\"+~"), text.size())).starts_with(called(word));
  }

  /// Sets the value of the flag in place. Returns false if the flag is not written as separate words.
  bool is_set_in_place(const Setter& set, std::size_t at) {
    const syntax::Word& word = launch_.arguments[at];
    const std::string_view name = called(word);
    if (set.value.empty()) {
      if (positive_name(name) == positive_name(set.key) && name != set.key) {
        if (!is_written(at)) return false;
        edits_.push_back({begin_of(word), begin_of(word) + name.size(), set.key});
      }
      return true;
    }
    if (!is_written(at)) return false;
    const std::size_t after = begin_of(word) + name.size();
    if (script_.substr(after).starts_with('=')) {
      edits_.push_back({after + 1, end_of_word(script_, begin_of(word)), set.value});
      return true;
    }
    if (at + 1 >= launch_.arguments.size() || !is_own(at + 1)) return false;
    const std::size_t from = begin_of(launch_.arguments[at + 1]);
    edits_.push_back({from, end_of_word(script_, from), set.value});
    return true;
  }

  base::Status remove(std::size_t at, std::string_view key) {
    if (!is_written_whole(at)) return elsewhere(at, key);
    const syntax::Word& word = launch_.arguments[at];
    const std::size_t begin = begin_of(word);
    std::size_t end = end_of_word(script_, begin);
    const Flag* const flag = flag_of(key);
    const bool alone = flag != nullptr && (flag->kind == FlagKind::on || flag->kind == FlagKind::either);
    if (!alone && script_.substr(begin, end - begin).find('=') == std::string_view::npos &&
        at + 1 < launch_.arguments.size()) {
      const std::size_t value = begin_of(launch_.arguments[at + 1]);
      if (!is_own(at + 1) || value < end) return elsewhere(at + 1, key);
      end = end_of_word(script_, value);
    }
    edits_.push_back(removal(script_, begin, end));
    gone_.insert(at);
    return {};
  }

  /// Adds the setting after the last word, because the last occurrence counts.
  base::Status append(const Setter& set, const std::vector<std::size_t>& places) {
    const std::optional<std::size_t> last = last_own();
    if (!places.empty() && (!last || places.back() > *last)) return elsewhere(places.back(), set.key);
    if (!last)
      return base::Error{base::Failure::bad_input, sources_.front(), launch_.place.line, launch_.place.column,
                         fmt::format("{} cannot be added: the script does not write out any argument of the command; "
                                     "accepted: a script that spells out an argument in its command or in an array",
                                     set.key)};
    const char* const between = set.value.empty() ? "" : set.key.starts_with("--") ? " " : "=";
    added_.push_back(fmt::format("{}{}{}", set.key, between, set.value));
    return {};
  }

  base::Error elsewhere(std::size_t at, std::string_view flag) const {
    const syntax::Place& place = launch_.arguments[at].place;
    return {base::Failure::bad_input, sources_[static_cast<std::size_t>(place.source)], place.line, place.column,
            fmt::format(
                "{} comes from {}; accepted: a script that spells out the argument in its command or in an array", flag,
                place.source == 0 ? "a variable, or a quoted string that holds several arguments"
                                  : "another file that the script reads")};
  }

  std::optional<std::size_t> last_own() const {
    for (std::size_t at = launch_.arguments.size(); at-- > 0;)
      if (launch_.arguments[at].place.source == 0 && !gone_.contains(at)) return at;
    return std::nullopt;
  }

  std::string_view script_;
  const syntax::Launch& launch_;
  Dialect dialect_;
  const std::vector<std::string>& sources_;
  std::vector<Edit> edits_;
  std::set<std::size_t> gone_;  ///< indices of removed words
  std::vector<std::string> added_;
};

base::Result<std::string> edited(WordEditor editor, const std::vector<Change>& changes) {
  for (const Change& change : changes) DOVETAIL_CHECK(editor.change(change));
  return std::move(editor).take();
}

}  // namespace

base::Result<std::string> edit_flags(std::string_view script, const syntax::Launch& launch, std::span<const Flag> flags,
                                     const std::vector<Change>& changes, const std::vector<std::string>& sources) {
  return edited({script, launch, {.flags = flags}, sources}, changes);
}

base::Result<std::string> edit_overrides(std::string_view script, const syntax::Launch& launch,
                                         const std::vector<Change>& changes, const std::vector<std::string>& sources) {
  return edited({script, launch, {.overrides = true}, sources}, changes);
}

std::string_view override_name(const syntax::Word& word) {
  if (word.text.pieces.empty() || word.text.pieces.front().unknown) return {};
  const std::string_view text = word.text.pieces.front().text;
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos && !text.starts_with("--") && !text.starts_with("~")) return {};
  return bare_key(text.substr(0, sign));
}

}  // namespace dovetail::trainers
