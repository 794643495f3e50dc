// What a file is, by its content.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dovetail::answer {

/// What `content`, which is no schedule that can be read, is instead, and what to do with it: a problem, a Chrome
/// trace, a picture. `path` is how the user called it. Nothing where it looks like none of them.
std::optional<std::string> describe_other_content(std::string_view content, const std::string& path);

/// The one of our formats that `content` names by its key `format`, without its version: "dovetail/job"; empty where it
/// names none. Of what is too large to be read twice, or cannot be, the first that its beginning names.
std::string named_format(std::string_view content);

/// Whether `content` is a schedule of our own, by its format.
bool is_own_schedule(std::string_view content);

}  // namespace dovetail::answer
