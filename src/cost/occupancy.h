// How the places of a generation engine empty: continuous batching without its randomness.
#pragma once

#include <vector>

#include "workflow/lengths.h"

namespace dovetail::cost {

/// The places of an engine that starts with a sequence in each and refills them at once while any wait: first full, then the tail.
struct Occupancy {
  double full_steps = 0;    ///< until nobody waits
  double full_context = 0;  ///< tokens that a sequence has generated, on average over these steps

  /// A stretch of the tail, by the middle of which ...
  struct Slice {
    double left = 0;     ///< ... this fraction of the places still decodes ...
    double context = 0;  ///< ... and its sequences have generated so many tokens on average
  };
  double slice_steps = 0;  ///< of each slice
  std::vector<Slice> tail;
};

/// Of `waves` sequences for each place; all places start at once. With at most one wave nobody waits, and the tail is the lengths'
/// survival. With more, sequences end as renewals do (Feller, An Introduction to Probability Theory, volume 2, chapter XI): their expected
/// number is summed on a grid of 64 steps to the longest length, and whole waves beyond the third take the mean length each, which they do
/// in the limit. All tokens are accounted for: full_steps and what the tail adds up to are waves * mean. REQUIRES: waves > 0.
Occupancy occupancy_of(const workflow::LengthDistribution& lengths, double waves);

}  // namespace dovetail::cost
