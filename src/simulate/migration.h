// Migration of unfinished samples to a few instances (RLHFuse, NSDI 2025, section 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/quantity.h"
#include "simulate/generation.h"

namespace dovetail::simulate {

/// A migration that took place.
struct Migration {
  base::Ticks at;                         ///< time at which the threshold was reached
  std::size_t unfinished = 0;             ///< unfinished samples when the steps in progress at that time end
  std::vector<std::size_t> destinations;  ///< instances that receive samples, ascending
  std::size_t moved = 0;                  ///< number of samples that changed their instance
  std::int64_t bytes = 0;                 ///< bytes of KV cache sent from all devices
  /// True: the KV cache was dropped and is recomputed at the destinations; false: it was sent.
  bool computed_again = false;
  base::Ticks end;  ///< time at which the last sample arrived
};

/// Returns the number of instances that take the unfinished samples: max(1, ceil(R / BSmax), ceil(R M / C)), where
/// - R is `unfinished`, the number of unfinished samples
/// - BSmax is the largest batch with a flat decode step (cost::flat_batch at the samples' mean context), at most
///   max_num_seqs
/// - M is `max_sequence`, the tokens of the longest possible sequence
/// - C is the number of tokens that fit in an instance's KV cache
std::size_t destination_count(const GenerationTask& task, const Fleet& fleet, const std::vector<Sample>& samples,
                              std::size_t unfinished, std::int64_t max_sequence);

/// Moves all unfinished samples to `destinations` of the instances.
/// - The instances with the most unfinished samples are the destinations (ties: the lower number).
/// - The other samples move instance by instance, in the order in which they entered, each to the destination with the
///   fewest unfinished samples so far (ties: the lower number).
/// - The KV cache moves from each device to the device of the same rank in the destination: over links inside a node if
///   both instances are in the same node, otherwise between nodes. Samples of a group that take the same route send
///   their prompt once. An instance sends one sample after the other and shares links fairly with other transfers
///   (traffic.h). A sample resumes decoding on arrival. Transfers do not slow decoding down.
/// - Alternatively the KV cache is dropped and recomputed at the destination. The choice is the same for all samples:
///   the alternative with which the last of them resumes decoding sooner.
///
/// `freed` receives, for each instance, the time at which it has sent everything; 0 for destinations. REQUIRES:
/// destinations in [1, number of instances), and all instances have stopped at the end of the first step that does not
/// end before `at`.
Migration migrate(const GenerationTask& task, Fleet& fleet, std::vector<Instance>& instances, base::Ticks at,
                  std::size_t destinations, std::vector<base::Ticks>& freed);

}  // namespace dovetail::simulate
