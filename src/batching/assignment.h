// Which sequences share a micro-batch, or go to one rank: parts of a batch, each the ids of its sequences, and what
// they add up to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dovetail::batching {

/// [part] ids: the places of its sequences in the lengths that were dealt. Each is in exactly one part.
using Assignment = std::vector<std::vector<std::size_t>>;

/// What the sequences of a part add up to.
struct PartSums {
  std::int64_t tokens = 0;
  double squares = 0;     ///< the sum of the squares of their lengths
  std::int64_t last = 0;  ///< tokens of the last one

  friend bool operator==(const PartSums&, const PartSums&) = default;
};

PartSums sums_of(const std::vector<std::size_t>& part, const std::vector<std::int64_t>& lengths);
/// [part]
std::vector<PartSums> sums_of(const Assignment& parts, const std::vector<std::int64_t>& lengths);

/// The ids of `lengths` from the longest to the shortest, those of one length in their order.
std::vector<std::size_t> by_decreasing_length(const std::vector<std::int64_t>& lengths);

}  // namespace dovetail::batching
