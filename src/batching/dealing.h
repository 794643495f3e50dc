// Samples dealt to data-parallel ranks and to instances of the generation engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/assignment.h"

namespace dovetail::batching {

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
