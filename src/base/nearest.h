// "did you mean": the accepted name that is closest to the one that was given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dovetail::base {

/// The candidate with the least edit distance to `name` (the first of several), where it is close enough to be a slip of the
/// fingers (at most a third of the longer one's letters, or one); empty otherwise.
std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);

/// "; did you mean 'greedy'?", or nothing where no candidate is close.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace dovetail::base
