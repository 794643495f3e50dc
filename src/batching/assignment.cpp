#include "batching/assignment.h"

#include <algorithm>
#include <numeric>

namespace dovetail::batching {

PartSums sums_of(const std::vector<std::size_t>& part, const std::vector<std::int64_t>& lengths) {
  PartSums sums;
  for (const std::size_t id : part) {
    const auto length = static_cast<double>(lengths[id]);
    sums.tokens += lengths[id];
    sums.squares += length * length;
    sums.last = lengths[id];
  }
  return sums;
}

std::vector<PartSums> sums_of(const Assignment& parts, const std::vector<std::int64_t>& lengths) {
  std::vector<PartSums> sums;
  for (const std::vector<std::size_t>& part : parts) sums.push_back(sums_of(part, lengths));
  return sums;
}

std::vector<std::size_t> by_decreasing_length(const std::vector<std::int64_t>& lengths) {
  std::vector<std::size_t> ids(lengths.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  std::sort(ids.begin(), ids.end(),
            [&](std::size_t a, std::size_t b) { return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b; });
  return ids;
}

}  // namespace dovetail::batching
