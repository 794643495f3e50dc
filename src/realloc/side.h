// The two sides of a reallocation: the current and the new placement of a model's weights.
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
/// With layout.zero == 3, the n ranks that would hold equal slices (data x context ranks, or the copies of an expert)
/// each hold one part of every slice instead. The slice's e elements are counted row by row. Of the n ranks, rank i
/// holds elements floor(i e / n) to floor((i + 1) e / n) - 1. With a shard group, slices are sharded over each group of
/// consecutive ranks (see llm::shard_ranks), and the groups are copies.
struct Side {
  llm::Transformer model;
  llm::Layout layout;
  cluster::Mesh mesh;
  int shard_group = 0;  ///< number of ranks over which ZeRO 3 shards; 0: all ranks
};

/// Returns why weights cannot move from `source` to `destination` and what is accepted; nullopt if they can. The models
/// may differ in their name and head. Of two language models, both or neither must have a head that is tied to the
/// embedding.
std::optional<std::string> find_fault(const cluster::Cluster& cluster, const Side& source, const Side& destination);

/// Returns the number of ranks of a pipeline stage, p. Rank r is at position r % p of stage r / p.
int positions_of(const llm::Layout& layout);

/// Returns the pipeline stage that holds each layer. REQUIRES: find_fault finds nothing.
std::vector<int> stages_of_layers(const Side& side);

/// Returns the stages that hold the token embedding: the first, and also the last if the head is tied to it.
std::vector<int> embedding_stages(const Side& side);

}  // namespace dovetail::realloc
