// Deals sequences to data-parallel ranks and samples to instances of the generation engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/micro_batches.h"

namespace dovetail::batching {

enum class SequenceCounts {
  any,    ///< only tokens count: micro-batches
  equal,  ///< numbers of sequences differ by at most one: data-parallel ranks
};

/// Splits sequences into parts with about the same tokens by the largest differencing method (Karmarkar and Karp, The
/// Differencing Method of Set Partitioning, UCB/CSD 82/113, 1982). verl (`get_seqlen_balanced_partitions` with
/// `equal_size`) and OpenRLHF, which copied it, balance ranks and micro-batches this way.
///
/// A draft assigns some sequences to all parts. Initially each sequence has its own draft. With equal sizes, each
/// `parts` consecutive sequences in descending order of length form a draft. Repeatedly, the two drafts with the
/// largest difference between their largest and smallest part are merged: the largest part of one joins the smallest of
/// the other, and so on.
///
/// Between drafts of equal difference, the one whose largest part has more tokens comes first, then the one with the
/// longest sequence. Ties between parts of equal tokens go to the one with the longest sequence. Among sequences of
/// equal length, the smaller id counts as longer. The tokens of the parts therefore do not depend on the order of the
/// sequences.
///
/// Returns the parts in descending order of tokens, each with ascending ids. If there are fewer sequences than parts,
/// the last parts are empty, and only then. REQUIRES: parts >= 1; lengths of at least 1.
Assignment balanced(const std::vector<std::int64_t>& lengths, std::size_t parts, SequenceCounts counts);

enum class RankDistribution {
  in_order,  ///< in contiguous runs; if they do not divide evenly, the first ranks have one more
  balanced,  ///< balanced() with SequenceCounts::equal: about the same tokens
};

/// Returns the samples of each of `ranks` data-parallel ranks. REQUIRES: ranks and lengths of at least 1.
Assignment distribute_to_ranks(const std::vector<std::int64_t>& lengths, std::size_t ranks,
                               RankDistribution distribution);

/// Deals `count` items in turn: item i to part i modulo `parts`. REQUIRES: parts >= 1.
Assignment distribute_round_robin(std::size_t count, std::size_t parts);

/// Returns the samples of each instance, in arrival order. Groups (`groups`: [sample]) stay together and are dealt in
/// the order of their first samples. If there are fewer groups than instances, samples are dealt individually. Dealing
/// is in turn. If `loads` ([sample] tokens) is not empty, the next goes to the first instance with the smallest load
/// instead. REQUIRES: instances >= 1.
Assignment distribute_to_instances(const std::vector<std::int64_t>& groups, const std::vector<std::int64_t>& loads,
                                   std::size_t instances);

}  // namespace dovetail::batching
