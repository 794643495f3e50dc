// Line-by-line difference of two texts.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::answer {

/// Returns the lines that differ: removed lines start with "- ", added lines with "+ ". The difference is minimal
/// (longest common subsequence between the first and the last change). If thousands of lines lie between these, all of
/// them are returned as removed and added.
std::string difference_of(std::string_view before, std::string_view after);

}  // namespace dovetail::answer
