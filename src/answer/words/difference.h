// What changed from one text to another.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::answer {

/// The lines that one text has and the other does not, those of the first with "- ", of the second with "+ ": the
/// fewest, by the longest common subsequence of what lies between the first and the last change. Where that is
/// thousands of lines, all of them.
std::string difference_of(std::string_view before, std::string_view after);

}  // namespace dovetail::answer
