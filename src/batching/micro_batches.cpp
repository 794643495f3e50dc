#include "batching/micro_batches.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "base/assert.h"

namespace dovetail::batching {

SequenceSums sums_of(const std::vector<std::size_t>& part, const std::vector<std::int64_t>& lengths) {
  SequenceSums sums;
  for (const std::size_t id : part) {
    const auto length = static_cast<double>(lengths[id]);
    sums.tokens += lengths[id];
    sums.squares += length * length;
    sums.last = lengths[id];
  }
  return sums;
}

std::vector<SequenceSums> sums_of(const Assignment& parts, const std::vector<std::int64_t>& lengths) {
  std::vector<SequenceSums> sums;
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

namespace {

/// Free capacity of each of `count` micro-batches. Finding the first with enough takes logarithmic time.
class FreeTokens {
 public:
  FreeTokens(std::size_t count, std::int64_t capacity) {
    while (leaves_ < count) leaves_ *= 2;
    max_free_.assign(2 * leaves_, capacity);
  }

  /// Returns the first micro-batch with at least `tokens` free tokens. REQUIRES: there is one.
  std::size_t first_with(std::int64_t tokens) const {
    std::size_t node = 1;
    while (node < leaves_) node = max_free_[2 * node] >= tokens ? 2 * node : 2 * node + 1;
    return node - leaves_;
  }

  void take(std::size_t place, std::int64_t tokens) {
    std::size_t node = leaves_ + place;
    max_free_[node] -= tokens;
    while (node > 1) {
      node /= 2;
      max_free_[node] = std::max(max_free_[2 * node], max_free_[2 * node + 1]);
    }
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> max_free_;  // binary tree of maxima over the micro-batches, which are the leaves
};

/// First-fit decreasing of `count` sequences, longest first. Calls `put` with the index and micro-batch of each.
template <class LengthOf, class Put>
void first_fit(std::size_t count, std::int64_t capacity, LengthOf length_of, Put put) {
  FreeTokens free_tokens(count, capacity);
  for (std::size_t index = 0; index < count; ++index) {
    const std::int64_t tokens = length_of(index);
    // Unused micro-batches have the full capacity.
    const std::size_t place = free_tokens.first_with(std::min(tokens, capacity));
    free_tokens.take(place, tokens);
    put(index, place);
  }
}

}  // namespace

Assignment first_fit_decreasing(const std::vector<std::int64_t>& lengths, std::int64_t capacity) {
  const std::vector<std::size_t> ids = by_decreasing_length(lengths);
  Assignment parts;
  first_fit(
      ids.size(), capacity, [&](std::size_t index) { return lengths[ids[index]]; },
      [&](std::size_t index, std::size_t place) {
        if (place == parts.size()) parts.emplace_back();
        parts[place].push_back(ids[index]);
      });
  return parts;
}

std::size_t count_first_fit_decreasing(std::vector<std::int64_t> lengths, std::int64_t capacity) {
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  std::size_t count = 0;
  first_fit(
      lengths.size(), capacity, [&](std::size_t index) { return lengths[index]; },
      [&](std::size_t, std::size_t place) { count = std::max(count, place + 1); });
  return count;
}

Assignment by_count(std::size_t count, std::size_t sequences) {
  DOVETAIL_ASSERT(sequences >= 1);
  Assignment parts;
  for (std::size_t id = 0; id < count; ++id) {
    if (id % sequences == 0) parts.emplace_back();
    parts.back().push_back(id);
  }
  return parts;
}

Assignment exactly(const std::vector<std::int64_t>& lengths, std::size_t parts) {
  DOVETAIL_ASSERT(parts >= 1);
  using Load = std::pair<std::int64_t, std::size_t>;  // tokens and place
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::size_t place = 0; place < parts; ++place) loads.emplace(0, place);
  Assignment dealt(parts);
  for (const std::size_t id : by_decreasing_length(lengths)) {
    const auto [tokens, place] = loads.top();
    loads.pop();
    dealt[place].push_back(id);
    loads.emplace(tokens + lengths[id], place);
  }
  std::sort(dealt.begin(), dealt.end(), [&](const auto& a, const auto& b) {
    const std::int64_t tokens_a = sums_of(a, lengths).tokens;
    const std::int64_t tokens_b = sums_of(b, lengths).tokens;
    return tokens_a != tokens_b ? tokens_a > tokens_b : a < b;
  });
  return dealt;
}

}  // namespace dovetail::batching
