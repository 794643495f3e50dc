// Random lengths, and checks common to all assignments.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "batching/micro_batches.h"

namespace dovetail::batching::test {

inline std::vector<std::int64_t> random_lengths(std::size_t min_count, std::size_t max_count) {
  const auto count = *rc::gen::inRange<std::size_t>(min_count, max_count + 1);
  return *rc::gen::container<std::vector<std::int64_t>>(count, rc::gen::inRange<std::int64_t>(1, 60));
}

inline std::vector<std::int64_t> shuffled(std::vector<std::int64_t> lengths) {
  for (std::size_t index = 1; index < lengths.size(); ++index)
    std::swap(lengths[index], lengths[*rc::gen::inRange<std::size_t>(0, index + 1)]);
  return lengths;
}

inline std::int64_t tokens_of(const std::vector<std::size_t>& part, const std::vector<std::int64_t>& lengths) {
  return std::accumulate(part.begin(), part.end(), std::int64_t{0},
                         [&](std::int64_t sum, std::size_t id) { return sum + lengths[id]; });
}

inline std::vector<std::int64_t> tokens_of(const Assignment& parts, const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> tokens;
  for (const std::vector<std::size_t>& part : parts) tokens.push_back(tokens_of(part, lengths));
  return tokens;
}

/// Checks that there are `parts` parts with each id once, and that as few of them as possible are empty.
inline void assert_each_once(const Assignment& dealt, std::size_t count, std::size_t parts) {
  RC_ASSERT(dealt.size() == parts);
  std::vector<int> seen(count, 0);
  std::size_t filled = 0;
  for (const std::vector<std::size_t>& part : dealt) {
    if (!part.empty()) ++filled;
    for (const std::size_t id : part) ++seen.at(id);
  }
  RC_ASSERT(std::count(seen.begin(), seen.end(), 1) == std::ssize(seen));
  RC_ASSERT(filled == std::min(count, parts));
}

/// Returns the minimum tokens of the largest part, by trying all assignments of the sequences from `next` on.
inline std::int64_t min_largest(const std::vector<std::int64_t>& lengths, std::vector<std::int64_t>& sums,
                                std::size_t next) {
  if (next == lengths.size()) return *std::max_element(sums.begin(), sums.end());
  std::int64_t best = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  for (std::int64_t& sum : sums) {
    sum += lengths[next];
    best = std::min(best, min_largest(lengths, sums, next + 1));
    sum -= lengths[next];
    if (sum == 0) break;  // all empty parts are equivalent
  }
  return best;
}

inline std::int64_t min_largest(const std::vector<std::int64_t>& lengths, std::size_t parts) {
  std::vector<std::int64_t> sums(parts, 0);
  return min_largest(lengths, sums, 0);
}

}  // namespace dovetail::batching::test
