// Recognizes files by their content.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dovetail::answer {

/// Explains what `content` is if it is not a readable schedule, and what to do with it: a problem, a Chrome trace, a
/// picture. `path` is the path that the user gave. nullopt if the content is not recognized.
std::optional<std::string> describe_other_content(std::string_view content, const std::string& path);

/// Returns the Dovetail format that the key `format` names, without its version: "dovetail/job"; empty if it names
/// none. For content that is too large or cannot be parsed, the first format named near its start.
std::string named_format(std::string_view content);

/// Whether `content` is a schedule in Dovetail's own format.
bool is_own_schedule(std::string_view content);

}  // namespace dovetail::answer
