// Sequences of different lengths packed into micro-batches.
#pragma once

#include <cstdint>
#include <vector>

namespace dovetail::cost {

/// Sequences that a model works on together, one behind the other, each of which attends to itself alone.
struct Pack {
  std::int64_t tokens = 0;
  double squares = 0;     ///< the sum of the squares of their lengths
  std::int64_t last = 0;  ///< tokens of the last one, which is the shortest

  friend bool operator==(const Pack&, const Pack&) = default;
};

/// First-fit decreasing: from the longest sequence on, each goes into the first pack in which it still fits, or into a new one (Johnson,
/// Near-Optimal Bin Packing Algorithms, 1973). One that is longer than `capacity` has a pack of its own. In the order in which they were
/// begun. REQUIRES: lengths of at least 1.
std::vector<Pack> first_fit_decreasing(std::vector<std::int64_t> lengths, double capacity);

}  // namespace dovetail::cost
