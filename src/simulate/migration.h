// Moving what is still being generated to a few instances (RLHFuse, NSDI 2025, section 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/quantity.h"
#include "simulate/generation.h"

namespace dovetail::simulate {

/// A migration that took place.
struct Migration {
  base::Ticks at;                         ///< when so few samples were unfinished
  std::size_t unfinished = 0;             ///< at the ends of the steps that were under way
  std::vector<std::size_t> destinations;  ///< instances, ascending
  std::size_t moved = 0;                  ///< samples that changed their instance
  std::int64_t bytes = 0;                 ///< keys and values that were sent, from all devices
  bool computed_again = false;            ///< they were left behind, and are computed again where the samples went
  base::Ticks end;                        ///< when the last sample arrived
};

/// How many instances take the unfinished samples: max(ceil(R / BSmax), ceil(R M / C)) of R samples, with BSmax the
/// batch up to which a decode step is flat (cost::flat_batch at the samples' mean context) and no more than
/// max_num_seqs, M the tokens of the longest sequence there can be, and C the tokens that an instance has room for.
std::size_t destination_count(const GenerationTask& task, const Fleet& fleet, const std::vector<Sample>& samples,
                              std::size_t unfinished, std::int64_t max_sequence);

/// Moves what `instances` have left to `destinations` of them. All have been stopped at the end of the first step that
/// is not before `at`.
/// - The instances with the most unfinished samples keep theirs (ties: the lower number).
/// - Each other sample, by instance and there in order of entry, goes to the destination with the fewest unfinished
/// samples so far (ties:
///   the lower number).
/// - Keys and values go from each device to the one of the same rank: over the links inside a node where both instances
/// lie in it, else
///   over those between nodes. The prompt of samples of a group that go the same way goes once. An instance sends one
///   sample after the other, and shares its links fairly with what else is on them (traffic.h). A sample decodes on as
///   soon as it has arrived. Nothing that is decoded meanwhile is slower.
/// - Or they are left behind, and computed again at the destination; whichever has all samples decoding again sooner,
/// taken for all alike. `freed`: [instance] when it has sent everything; of a destination, 0. REQUIRES: destinations in
/// [1, number of instances).
Migration migrate(const GenerationTask& task, Fleet& fleet, std::vector<Instance>& instances, base::Ticks at,
                  std::size_t destinations, std::vector<base::Ticks>& freed);

}  // namespace dovetail::simulate
