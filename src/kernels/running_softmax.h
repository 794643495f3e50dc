// A softmax over scores that come tile by tile (Milakov and Gimelshein 2018, arXiv 1805.02867). Both attentions, of
// whole sequences and of cached tokens, are made of it: so they give the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/exponential.h"
#include "kernels/lanes.h"

namespace dovetail::kernels {

/// Keys of a tile. The first tile begins with a sequence's first key.
inline constexpr std::int64_t key_tile = 64;

/// Puts the exponentials, over that of the largest score so far, in place of the first `visible` of a tile's scores,
/// and 0 in place of the others up to `columns`, a multiple of max_lanes. `max` is the largest score so far, at first
/// -infinity; `sum` that of the exponentials, at first 0; and `out` that of the values by these, [width]: all three go
/// over to the new largest score.
template <int bytes, class Number>
[[gnu::always_inline]] inline void fold_scores(Number* scores, std::int64_t visible, std::int64_t columns, Number& max,
                                               Number& sum, Number* out, std::int64_t width) {
  std::fill(scores + visible, scores + columns, -std::numeric_limits<Number>::infinity());
  const Number before = max;
  const Number now = std::max(before, max_of<bytes>(scores, columns));
  for (std::int64_t k = 0; k < columns; ++k) scores[k] = exponential(scores[k] - now);
  const Number of_tile = total_of<bytes>(scores, columns);
  if (now == before) {
    sum += of_tile;
    return;
  }
  const Number factor = exponential(before - now);
  max = now;
  sum = sum * factor + of_tile;
  for (std::int64_t i = 0; i < width; ++i) out[i] *= factor;
}

}  // namespace dovetail::kernels
