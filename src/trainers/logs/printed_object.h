// Python values as printed (dicts, lists, strings and words, on one line or several) and JSON objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/logs/console.h"

namespace dovetail::trainers {

struct PrintedValue {
  enum class Kind {
    word,  ///< a number, None, or the representation of an object: `<Enum.x: 1>`, `array([1])`
    text,
    list,  ///< a list or tuple
    map,
  };
  Kind kind = Kind::word;
  std::string text;                 ///< a word as printed, or the characters of a string
  PrintedNumber number;             ///< for a word in a map; its value is nullopt if the word is not a number
  std::vector<PrintedValue> items;  ///< items of a list, or values of a map
  std::vector<std::string> keys;    ///< keys of a map
  std::size_t begin = 0;            ///< position of the first character
  std::size_t end = 0;              ///< position after the last character
};

/// Reads the map that starts at position `at` of the line. Other text may follow it. Adjacent strings are joined,
/// because pprint splits long ones. Returns an Error with its position if there is no map, if the map is not closed, or
/// if a key or value is invalid.
base::Result<PrintedValue> read_printed_map(const ConsoleLine& line, std::size_t at);

/// A scalar, string or list in an object.
struct PrintedLeaf {
  std::string key;       ///< path from the root, separated by '/'
  std::string text;      ///< as printed
  PrintedNumber number;  ///< its value is nullopt if the leaf is not a number
  std::size_t at = 0;    ///< position of the value in the line
};

/// Returns the leaves of the object that starts at position `at` of the line. Other text may follow it. Returns an
/// Error with its position if the object is missing or not closed, or if a key or value is invalid.
base::Result<std::vector<PrintedLeaf>> read_printed_object(const ConsoleLine& line, std::size_t at);

/// Positions in "Global step 12: {": the step and the object.
struct StepObject {
  std::size_t step_at = std::string_view::npos;  ///< npos: not found
  std::string_view step;
  std::size_t object_at = 0;
};
/// Finds the first object in `text` that follows a step. The step follows `marker`, which must begin at the start of a
/// word.
StepObject find_step_object(std::string_view text, std::string_view marker);

/// Adds the numbers of an object found by find_step_object() to the log, at the step of the object. Returns an Error if
/// the step or the object is invalid.
base::Status add_step_object(const ConsoleLine& line, const StepObject& found, StepLogBuilder& log);

/// Adds the value of a leaf to the log at a step.
void add_leaf(const ConsoleLine& line, const std::string& key, const PrintedLeaf& leaf, std::int64_t step,
              StepLogBuilder& log);

}  // namespace dovetail::trainers
