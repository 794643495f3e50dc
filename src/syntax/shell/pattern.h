// Patterns of the shell: `*`, `?`, `[a-z]`, and a backslash before what stands for itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::syntax {

/// Whether the pattern is the whole text.
bool matches_pattern(std::string_view pattern, std::string_view text);

/// Where a pattern is looked for, and how much of the text it takes.
enum class PatternPlace { min_prefix, max_prefix, min_suffix, max_suffix };
std::string remove_pattern(std::string_view text, std::string_view pattern, PatternPlace place);

enum class ReplacePlace { first, all, prefix, suffix };
std::string replace_pattern(std::string_view text, std::string_view pattern, std::string_view replacement,
                            ReplacePlace place);

/// What an extended regular expression (POSIX) finds: the match and its groups, empty where it finds none. Nothing
/// where the expression is not valid, or may take too long.
std::optional<std::vector<std::string>> find_regex(const std::string& regex, const std::string& text);

}  // namespace dovetail::syntax
