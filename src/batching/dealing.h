// Sequences shared out so that all parts have about the same tokens.
//
// Samples dealt to data-parallel ranks and to instances of the generation engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/micro_batches.h"

namespace dovetail::batching {

enum class PartSizes {
  any,    ///< only tokens count: micro-batches
  equal,  ///< all parts have the same number of sequences, or some one more than others: data-parallel ranks
};

/// The largest differencing method (Karmarkar and Karp, The Differencing Method of Set Partitioning, UCB/CSD 82/113,
/// 1982), as verl
/// (`get_seqlen_balanced_partitions`, with `equal_size`) and OpenRLHF, which has it from there, balance ranks and
/// micro-batches:
///
/// A draft deals some sequences to all parts. At first each sequence has a draft of its own, or with equal sizes each
/// `parts` sequences that follow each other by length, from the longest on. Again and again the two drafts with the
/// largest difference between their largest and their smallest part become one, in which the largest part of the one
/// goes with the smallest of the other, and so on.
///
/// Ties: of drafts of one difference the one with the larger largest part comes first, then the one with the longest
/// sequence; of parts of equal tokens the one with the longest sequence. Of sequences of one length that with the
/// smaller id counts as longer. So the tokens of the parts do not depend on the order of the sequences.
///
/// Parts from that with the most tokens on, the ids in each ascending. With fewer sequences than parts the last ones
/// are empty; else none is. REQUIRES: parts >= 1; lengths of at least 1.
Assignment balanced(const std::vector<std::int64_t>& lengths, std::size_t parts, PartSizes sizes);

enum class Dealing {
  as_they_come,  ///< in runs of equal length; where they do not go round, the first ranks have one more
  balanced,      ///< balanced with PartSizes::equal: about the same tokens
};

/// The samples of each of `ranks` (at least 1) data-parallel ranks. Lengths are at least 1.
Assignment deal_to_ranks(const std::vector<std::int64_t>& lengths, std::size_t ranks, Dealing dealing);

/// What comes goes to one part after the other: i to i modulo `parts` (at least 1).
Assignment deal_in_turn(std::size_t count, std::size_t parts);

/// The samples of each instance, in the order in which they come. Groups (`groups`: [sample]) stay together and are
/// dealt in the order of their first samples; where there are fewer groups than instances, samples are by themselves.
/// In turn, or where `loads` is not empty
/// ([sample], as tokens) to the instance with the least so far, of several the first. REQUIRES: instances >= 1.
Assignment deal_to_instances(const std::vector<std::int64_t>& groups, const std::vector<std::int64_t>& loads,
                             std::size_t instances);

}  // namespace dovetail::batching
