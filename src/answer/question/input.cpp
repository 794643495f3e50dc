#include "answer/question/input.h"

#include <algorithm>

#include "base/file.h"

namespace dovetail::answer {

base::Result<std::string> read_input(const Input& input) {
  if (input.text) return *input.text;
  return base::read_file(input.path);
}

bool is_standard_input(const Input& input) { return !input.text && input.path == "-"; }

std::string name_of(const Input& input) { return base::display_path(input.path); }

base::Status check_standard_input(const std::vector<std::optional<Input>>& inputs) {
  const auto is_standard = [](const std::optional<Input>& input) { return input && is_standard_input(*input); };
  if (std::count_if(inputs.begin(), inputs.end(), is_standard) <= 1) return {};
  return base::bad_input("standard input can be read only once; use '-' for one file only");
}

base::Error at_input(base::Error error, const Input& input) {
  if (error.path.empty()) error.path = name_of(input);
  return error;
}

}  // namespace dovetail::answer
