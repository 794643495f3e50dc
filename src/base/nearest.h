// "did you mean": the accepted name that is closest to the one that was given.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::base {

/// The candidates that are close enough to `name` to be a slip of the fingers (an edit distance of at most a third of
/// the longer one's letters, or one): those with the least distance first, equals in their order, at most `most`.
std::vector<std::string_view> nearest_names(std::string_view name, const std::vector<std::string_view>& candidates,
                                            std::size_t most);

/// "; did you mean 'greedy'?", "; did you mean 'exp1', 'exp2' or 'exp10'?" where `most` is more than one, or nothing
/// where no candidate is close.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& candidates, std::size_t most = 1);

}  // namespace dovetail::base
