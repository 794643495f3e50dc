// The sequences of a pass cut into the micro-batches that its settings ask for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "control/models.h"

namespace dovetail::runtime {

/// [micro-batch] places in `sequences`, by the rules of src/batching: a count of micro-batches goes before a limit of
/// tokens, and that before one of sequences; without any all are computed together. What is kept together counts as one
/// sequence of all its tokens. None is empty. REQUIRES: kept_together divides the number of sequences.
std::vector<std::vector<std::size_t>> micro_batches_of(std::span<const control::TokenSequence> sequences,
                                                       const control::PassSettings& settings);

/// [replica][micro-batch] places in `sequences`: they are dealt to replicas, and those of a replica to exactly so many
/// micro-batches, of about the same tokens (batching::exactly). The last ones may be empty.
std::vector<std::vector<std::vector<std::size_t>>> dealt_to_replicas(std::span<const control::TokenSequence> sequences,
                                                                     std::size_t kept_together, std::size_t replicas,
                                                                     std::size_t microbatches);

/// The fewest micro-batches, from `planned` on, that a mini-batch of each replica is dealt to so that none is beyond
/// the limits of `micro_batching`; or as many as there are sequences kept together, where these are.
std::size_t microbatches_within(const plan::MicroBatching& micro_batching,
                                std::span<const control::MiniBatch> mini_batches, std::size_t replicas,
                                std::size_t planned);

}  // namespace dovetail::runtime
