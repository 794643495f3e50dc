// An answer's JSON together with a file that is made of it.
#pragma once

#include <string>

namespace dovetail::answer {

/// `object`, the text of a JSON object, with a last member `output`: what `content` says where it is JSON, else
/// `content` as a text.
std::string json_with_output(const std::string& object, const std::string& content);

}  // namespace dovetail::answer
