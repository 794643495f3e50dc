// Objects within a line: a dict as Python prints it, or an object as JSON has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/logs/console.h"

namespace dovetail::trainers {

/// A number or a word of an object, or something else that is none: a text, a list.
struct PrintedLeaf {
  std::string key;       ///< its path from the root, with '/' between
  std::string text;      ///< as it is printed
  PrintedNumber number;  ///< well formed also where it is no number at all: no value then
  std::size_t at = 0;    ///< the character of the line where the value begins
};

/// The scalars of the object that begins at a character of a line. Behind its end the line may go on. An Error at the
/// place where it is no object, does not end, or has a number that is none.
base::Result<std::vector<PrintedLeaf>> read_printed_object(const ConsoleLine& line, std::size_t at);

/// "Global step 12: {": where the step and the object begin.
struct StepObject {
  std::size_t step_at = std::string_view::npos;  ///< npos: there is none
  std::string_view step;
  std::size_t object_at = 0;
};
/// The first one in `text` whose step, a number in digits, stands behind `words`, which begin a word.
StepObject find_step_object(std::string_view text, std::string_view words);

/// Adds the numbers of the object that find_step_object() found, with its step.
base::Status add_step_object(const ConsoleLine& line, const StepObject& found, StepLogBuilder& log);

/// Adds a leaf at a step.
void add_leaf(const ConsoleLine& line, const std::string& key, const PrintedLeaf& leaf, std::int64_t step,
              StepLogBuilder& log);

}  // namespace dovetail::trainers
