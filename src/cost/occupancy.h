// How the places of a generation engine empty: continuous batching without its randomness.
#pragma once

#include <cstddef>
#include <vector>

#include "workflow/lengths.h"

namespace dovetail::cost {

/// How an instance of an engine decodes all that it has: first while sequences wait for a place, then the tail.
struct Occupancy {
  /// A stretch of decoding.
  struct Part {
    double steps = 0;
    double sequences = 0;  ///< that are decoded together
    double context = 0;    ///< tokens that a sequence has generated, on average
  };
  std::vector<Part> parts;
  std::size_t tail = 0;           ///< of `parts`: from this one on nobody waits
  double at_start = 0;            ///< sequences that begin at once
  double recomputed = 0;          ///< tokens whose keys and values are computed again ...
  double recomputing_steps = 0;   ///< ... in so many steps
  bool is_short_of_room = false;  ///< for keys and values: someone waited for it, or was preempted
};

/// Lengths on a grid of 64 steps to the longest: [node] the probability of node / 64 of it. A length between two nodes
/// is shared out so that the mean stays.
std::vector<double> lengths_on_grid(const workflow::LengthDistribution& lengths);

/// So many sequences in so many places, with room for all of them; all places start at once and are refilled at once
/// while any wait. With no more sequences than places nobody waits, and the tail is the lengths' survival, in 200
/// parts. With more, sequences end as renewals do (Feller, An Introduction to Probability Theory, volume 2, chapter
/// XI): their expected number is summed on lengths_on_grid, and whole waves beyond the third take the mean length each,
/// which they do in the limit. All tokens are accounted for: what the parts decode is sequences * mean. REQUIRES: some
/// sequences, places for one.
Occupancy occupancy_of(const workflow::LengthDistribution& lengths, double sequences, double places);

}  // namespace dovetail::cost
