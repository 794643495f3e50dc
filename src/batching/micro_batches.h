// Splits sequences of different lengths into micro-batches by the rules that trainers use. All rules are deterministic.
// Lengths are in tokens and at least 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dovetail::batching {

/// Distribution of sequences to parts: micro-batches, ranks or instances. Element p holds the ids of the sequences in
/// part p. An id is an index into the list of lengths. Each id is in exactly one part.
using Assignment = std::vector<std::vector<std::size_t>>;

/// Totals over the sequences of a part.
struct SequenceSums {
  std::int64_t tokens = 0;
  double squares = 0;     ///< sum of the squared lengths
  std::int64_t last = 0;  ///< tokens of the part's last sequence; 0 for an empty part

  friend bool operator==(const SequenceSums&, const SequenceSums&) = default;
};

SequenceSums sums_of(const std::vector<std::size_t>& part, const std::vector<std::int64_t>& lengths);
/// Returns the sums of each part.
std::vector<SequenceSums> sums_of(const Assignment& parts, const std::vector<std::int64_t>& lengths);

/// Returns the ids in descending order of length. Equal lengths keep their order.
std::vector<std::size_t> by_decreasing_length(const std::vector<std::int64_t>& lengths);

/// First-fit decreasing: in descending order of length, each sequence goes to the first micro-batch in which it fits,
/// or to a new one (Johnson, Near-Optimal Bin Packing Algorithms, 1973). A sequence longer than `capacity` gets its own
/// micro-batch. Returns the micro-batches in order of creation, each with its sequences in descending order of length,
/// then by id.
Assignment first_fit_decreasing(const std::vector<std::int64_t>& lengths, std::int64_t capacity);
/// Returns the number of micro-batches that first_fit_decreasing makes.
std::size_t count_first_fit_decreasing(std::vector<std::int64_t> lengths, std::int64_t capacity);

/// Splits the ids from 0 to `count` - 1 into micro-batches of `sequences` consecutive ids. The last micro-batch has the
/// remaining ones. REQUIRES: sequences >= 1.
Assignment by_count(std::size_t count, std::size_t sequences);

/// Makes exactly `parts` micro-batches with about the same number of tokens: in descending order of length, each
/// sequence goes to the micro-batch with the fewest tokens (ties: the one that got its first sequence earlier). The
/// largest micro-batch has at most 4/3 - 1 / (3 parts) times the tokens of the largest one in an optimal split (Graham,
/// Bounds on Multiprocessing Timing Anomalies, 1969).
///
/// Returns the micro-batches in descending order of tokens (ties: the smaller first id), each with its sequences in
/// descending order of length. If there are fewer sequences than micro-batches, the last micro-batches are empty.
/// REQUIRES: parts >= 1.
Assignment exactly(const std::vector<std::int64_t>& lengths, std::size_t parts);

/// Returns how many of the next `available` sequences, taken in order, fit in a micro-batch of at most `max_sequences`
/// sequences and `max_tokens` tokens. A limit of 0 means no limit. The first sequence always fits. `length_of(i)`
/// returns the tokens of sequence i.
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
