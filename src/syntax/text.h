// What foreign files say, as far as it is known without running them: text with unknown pieces, each with its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::syntax {

/// A place in one of the sources that were read. Line and column count from 1.
struct Place {
  int source = 0;  ///< index into the list of sources that the result holds
  int line = 0;
  int column = 0;

  bool operator==(const Place&) const = default;
};

/// Something that only running would tell.
struct Unknown {
  Place place;           ///< where it came from
  std::string what;      ///< "the output of `nvidia-smi`"
  std::string variable;  ///< the variable whose value would decide it; empty where there is none
  bool many = false;     ///< it may be any number of words, also none

  bool operator==(const Unknown&) const = default;
};

/// Known text, or where `unknown` stands something that is not known.
struct Piece {
  std::string text;
  std::optional<Unknown> unknown;

  bool operator==(const Piece&) const = default;
};

/// Pieces of which no two neighbours are known, and none is empty. Without pieces it is the empty text.
struct Text {
  std::vector<Piece> pieces;
  /// Variables that nobody had set, so that their defaults were taken.
  std::vector<std::string> defaulted;

  bool operator==(const Text&) const = default;
};

/// A word of a command or an element of an array.
struct Word {
  Text text;
  Place place;                   ///< where it stands in a source
  std::optional<Unknown> doubt;  ///< what decides whether the word is there at all

  bool operator==(const Word&) const = default;
};

Text text_of(std::string_view text);
Text text_of(Unknown unknown);

bool is_known(const Text& text);
bool is_empty(const Text& text);
/// The characters. REQUIRES: is_known().
std::string_view characters(const Text& text);
/// Whether it has known characters, so that it is surely not empty.
bool has_characters(const Text& text);
/// The first unknown piece. REQUIRES: not is_known().
const Unknown& first_unknown(const Text& text);
/// How many bytes the pieces take.
std::size_t size_of(const Text& text);

void append(Text& text, std::string_view more);
void append(Text& text, const Text& more);

/// For messages: `a<the output of ...>b`.
std::string describe(const Text& text);

/// A text that is one or the other, depending on `why`. The words at both ends that they share stay known.
Text either(const Text& one, const Text& other, const Unknown& why);

/// A list that is one or the other: what they share at both ends stays, the words between are in doubt.
std::vector<Word> either(const std::vector<Word>& one, const std::vector<Word>& other, const Unknown& why);

}  // namespace dovetail::syntax
