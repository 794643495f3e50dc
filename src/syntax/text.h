// Strings in scripts and configurations, with unknown pieces where the value is known only at run time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::syntax {

/// A place in one of the sources. Lines and columns start at 1. A line of 0 marks a value that is in no source, such as
/// a default.
struct Place {
  int source = 0;  ///< index into the sources of the result
  int line = 0;
  int column = 0;

  bool operator==(const Place&) const = default;
};

/// A value that is known only when the script runs.
struct Unknown {
  Place place;           ///< origin of the value
  std::string what;      ///< description for messages: "the output of `nvidia-smi`"
  std::string variable;  ///< variable that would determine the value; empty: none
  bool many = false;     ///< may be any number of words, including zero

  bool operator==(const Unknown&) const = default;
};

/// Known text, or an unknown value if `unknown` is set.
struct TextPiece {
  std::string text;
  std::optional<Unknown> unknown;

  bool operator==(const TextPiece&) const = default;
};

/// A string made of pieces. Known pieces are not empty, and no two of them are adjacent. An empty string has no pieces.
struct Text {
  std::vector<TextPiece> pieces;
  std::vector<std::string> defaulted;  ///< unset variables whose defaults were used

  bool operator==(const Text&) const = default;
};

/// A word of a command, or an element of an array.
struct Word {
  Text text;
  Place place;
  std::optional<Unknown> condition;  ///< condition that decides whether the word is present; nullopt: always present

  bool operator==(const Word&) const = default;
};

Text text_of(std::string_view text);
Text text_of(Unknown unknown);

bool is_known(const Text& text);
bool is_empty(const Text& text);
/// Returns the characters. REQUIRES: is_known().
std::string_view characters(const Text& text);
/// Returns whether any piece is known, in which case the string is not empty.
bool has_characters(const Text& text);
/// Returns the first unknown piece. REQUIRES: not is_known().
const Unknown& first_unknown(const Text& text);
/// Returns the approximate memory used by the pieces, in bytes.
std::size_t size_of(const Text& text);

void append(Text& text, std::string_view more);
void append(Text& text, const Text& more);

/// Returns the string for messages: `a<the output of ...>b`.
std::string describe(const Text& text);

/// Merges the strings of two branches. `why` decides which branch runs. Words that both strings share at the start stay
/// known; the rest becomes unknown.
Text either(const Text& one, const Text& other, const Unknown& why);

/// Merges the lists of two branches. Words that both lists share at the start or end stay as they are; all other words
/// of both lists become conditional.
std::vector<Word> either(const std::vector<Word>& one, const std::vector<Word>& other, const Unknown& why);

}  // namespace dovetail::syntax
