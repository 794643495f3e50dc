// The two sides of a reallocation: where a model's weights are before it, and where they are after it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "cluster/cluster.h"
#include "cluster/mesh.h"
#include "llm/layout.h"
#include "llm/transformer.h"

namespace dovetail::realloc {

using base::DeviceId;

/// A model laid out on a mesh. Rank r is device mesh.first + r.
///
/// With layout.zero == 3, the n ranks that would otherwise hold equal slices (data x context ranks, or the copies of an
/// expert) each hold one part of every slice instead. The e elements of a slice are counted row by row, and the i-th of
/// these ranks (from 0) holds elements floor(i e / n) to floor((i + 1) e / n) - 1. With a shard group, n is the size of
/// a group of consecutive ranks (see llm::shard_ranks), and each group holds all elements.
struct Side {
  llm::Transformer model;
  llm::Layout layout;
  cluster::Mesh mesh;
  int shard_group = 0;  ///< number of ranks over which ZeRO 3 shards; 0: all ranks
};

/// Returns why weights cannot move from `source` to `destination` and what is accepted; nullopt if they can. The models
/// may differ only in their names and heads. Of two language models, both or neither must have a head that is tied to
/// the embedding.
std::optional<std::string> find_fault(const cluster::Cluster& cluster, const Side& source, const Side& destination);

/// Returns the number of ranks of a pipeline stage. Rank r is at position r % positions of stage r / positions.
int positions_of(const llm::Layout& layout);

/// Returns the pipeline stage that holds each layer. REQUIRES: `side` passes the checks of find_fault.
std::vector<int> stages_of_layers(const Side& side);

/// Returns the stages that hold the token embedding: the first, and also the last if the head is tied to it.
std::vector<int> embedding_stages(const Side& side);

}  // namespace dovetail::realloc
