// Which sequences share a micro-batch, or go to one rank: parts of a batch, each the ids of its sequences, and what
// they add up to.
//
// Sequences of different lengths cut into micro-batches, by the rules that trainers use. All are deterministic; lengths
// are in tokens, and at least 1.
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

/// First-fit decreasing: from the longest sequence on, each goes into the first micro-batch in which it still fits, or
/// into a new one (Johnson, Near-Optimal Bin Packing Algorithms, 1973). One that is longer than `capacity` has a
/// micro-batch of its own. In the order in which they were begun; each has its sequences from the longest to the
/// shortest, of one length in the order of their ids.
Assignment first_fit_decreasing(const std::vector<std::int64_t>& lengths, std::int64_t capacity);
/// How many micro-batches that makes.
std::size_t count_first_fit_decreasing(std::vector<std::int64_t> lengths, std::int64_t capacity);

/// In their order, `sequences` (at least 1) to a micro-batch; the last one has what is left.
Assignment by_count(std::size_t count, std::size_t sequences);

/// Exactly `parts` (at least 1) micro-batches of about the same tokens: from the longest sequence on, each goes to the
/// micro-batch with the fewest tokens, of several to the one that got its first sequence before the others (Graham,
/// Bounds on Multiprocessing Timing Anomalies, 1969: the largest has at most 4/3 - 1 / (3 parts) times the tokens that
/// it must). Largest first, by tokens; of equal ones that with the smaller first id. Where there are fewer sequences
/// than micro-batches the last ones are empty.
Assignment exactly(const std::vector<std::int64_t>& lengths, std::size_t parts);

/// How many of the first of `available` sequences make one micro-batch of at most so many sequences and tokens (0: no
/// limit), at least one where there is any. `length_of(i)`: tokens of the i-th.
template <class LengthOf>
std::size_t count_that_fit(std::size_t available, std::int64_t max_sequences, std::int64_t max_tokens,
                           LengthOf length_of) {
  if (max_sequences > 0 && static_cast<std::size_t>(max_sequences) < available)
    available = static_cast<std::size_t>(max_sequences);
  std::int64_t tokens = 0;
  for (std::size_t index = 0; index < available; ++index) {
    tokens += length_of(index);
    if (index > 0 && max_tokens > 0 && tokens > max_tokens) return index;
  }
  return available;
}

}  // namespace dovetail::batching
