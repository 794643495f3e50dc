#include "learn/token_weights.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"

namespace dovetail::learn {

std::vector<double> token_weights(Weighing weighing, std::span<const std::int64_t> lengths, std::int64_t max_length) {
  DOVETAIL_ASSERT(max_length > 0);
  const auto total = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  const auto filled = static_cast<double>(
      std::count_if(lengths.begin(), lengths.end(), [](std::int64_t length) { return length > 0; }));
  std::vector<double> weights;
  for (const std::int64_t length : lengths) {
    DOVETAIL_ASSERT(length >= 0 && length <= max_length);
    if (length == 0) {
      weights.push_back(0);
    } else if (weighing == Weighing::tokens) {
      weights.push_back(1 / total);
    } else {
      const std::int64_t tokens = weighing == Weighing::sequences ? length : max_length;
      weights.push_back(1 / (filled * static_cast<double>(tokens)));
    }
  }
  return weights;
}

}  // namespace dovetail::learn
