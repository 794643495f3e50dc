// What Python prints of a value: dicts, lists, texts and words, within a line or over many, and objects as JSON has
// them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "trainers/logs/console.h"

namespace dovetail::trainers {

struct PrintedValue {
  enum class Kind {
    word,  ///< a number, None, or what some object prints of itself: `<Enum.x: 1>`, `array([1])`
    text,
    list,  ///< or a tuple
    map,
  };
  Kind kind = Kind::word;
  std::string text;                 ///< a word as it is printed, the characters of a text
  PrintedNumber number;             ///< of a word among a map's members: well formed also where it is no number at all
  std::vector<PrintedValue> items;  ///< of a list, or the values of a map
  std::vector<std::string> keys;    ///< of a map
  std::size_t begin = 0;            ///< its first character
  std::size_t end = 0;              ///< the one behind it
};

/// The map that begins at a character of a line. Behind its end the line may go on. Texts side by side are one, as
/// pprint breaks long ones. An Error at the place where it is no map, does not end, or has a member whose word is none.
base::Result<PrintedValue> read_printed_map(const ConsoleLine& line, std::size_t at);

}  // namespace dovetail::trainers
