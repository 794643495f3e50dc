// Adds the content of an output file to the JSON of its answer.
#pragma once

#include <string>

namespace dovetail::answer {

/// Appends a member `output` to the JSON object `object`: `content` as JSON if it parses, otherwise as a string.
std::string json_with_output(const std::string& object, const std::string& content);

}  // namespace dovetail::answer
