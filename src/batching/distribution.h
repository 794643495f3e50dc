// Distributes sequences to data-parallel ranks and micro-batches, and samples to instances of the generation engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/micro_batches.h"

namespace dovetail::batching {

enum class SequenceCounts {
  any,    ///< parts may have any number of sequences; for micro-batches
  equal,  ///< the numbers of sequences differ by at most one; for data-parallel ranks
};

/// Splits sequences into `parts` parts with about the same number of tokens by the largest differencing method
/// (Karmarkar and Karp, The Differencing Method of Set Partitioning, UCB/CSD 82/113, 1982). verl
/// (`get_seqlen_balanced_partitions` with `equal_size`) and OpenRLHF, which copied it, balance ranks and micro-batches
/// this way.
///
/// A draft is a partial solution: it distributes some of the sequences over the parts. Initially each sequence is a
/// draft. With SequenceCounts::equal, the sequences are sorted by descending length instead, and every `parts` of them
/// form a draft, one in each part. The algorithm repeatedly merges two drafts: those with the largest difference
/// between their largest and their smallest part. It joins the largest part of one with the smallest of the other, the
/// second largest with the second smallest, and so on.
///
/// Ties between drafts go to the one whose largest part has more tokens, then to the one with the longest sequence.
/// Ties between parts also go to the one with the longest sequence. Among sequences of equal length, the smaller id
/// counts as longer. The tokens of the parts therefore do not depend on the order of the sequences.
///
/// Returns the parts in descending order of tokens, each with ascending ids. The last parts are empty if and only if
/// there are fewer sequences than parts. REQUIRES: parts >= 1; lengths of at least 1.
Assignment balanced(const std::vector<std::int64_t>& lengths, std::size_t parts, SequenceCounts counts);

enum class RankDistribution {
  in_order,  ///< contiguous runs; if samples do not divide evenly, the first ranks get one more each
  balanced,  ///< about the same number of tokens per rank: balanced() with SequenceCounts::equal
};

/// Returns the samples of each of `ranks` data-parallel ranks, in ascending order. `lengths` are the tokens of the
/// samples. REQUIRES: ranks and lengths of at least 1.
Assignment distribute_to_ranks(const std::vector<std::int64_t>& lengths, std::size_t ranks,
                               RankDistribution distribution);

/// Distributes `count` items round-robin: item i goes to part i modulo `parts`. REQUIRES: parts >= 1.
Assignment distribute_round_robin(std::size_t count, std::size_t parts);

/// Returns the samples of each instance, in the order in which they were assigned. `groups` has the group of each
/// sample. The samples of a group go to the same instance, and groups are assigned in the order of their first samples.
/// If there are fewer groups than instances, samples are assigned individually, in order. `loads` has the tokens of
/// each sample. If `loads` is empty, the assignment is round-robin. Otherwise each group or sample goes to the instance
/// with the fewest tokens so far (ties: the first instance). REQUIRES: instances >= 1; `loads` is empty or as long as
/// `groups`.
Assignment distribute_to_instances(const std::vector<std::int64_t>& groups, const std::vector<std::int64_t>& loads,
                                   std::size_t instances);

}  // namespace dovetail::batching
