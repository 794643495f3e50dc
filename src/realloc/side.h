// The two sides of a reallocation: where a model's weights are, and where they shall be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "cluster/cluster.h"
#include "cluster/mesh.h"
#include "llm/layout.h"
#include "llm/transformer.h"

namespace dovetail::realloc {

using base::DeviceId;

/// A model laid out on a mesh: its rank r is device mesh.first + r.
///
/// With layout.zero == 3 the ranks that would hold equal slices (data x context of them; for an expert its copies) hold
/// one part each of every slice instead: the slice's elements row by row, copy i of n having those from floor(i e / n)
/// on to floor((i + 1) e / n) of e. With a shard group they are cut over each n of them that follow one another
/// (llm/shard_groups.h), and the groups are copies.
struct Side {
  llm::Transformer model;
  llm::Layout layout;
  cluster::Mesh mesh;
  int shard_group = 0;  ///< 0: all
};

/// Why weights cannot move from `source` to `destination`, and what would be accepted; nothing where they can. The
/// models may differ in their name and their head; two language models are both tied or both not.
std::optional<std::string> find_fault(const cluster::Cluster& cluster, const Side& source, const Side& destination);

/// Ranks of one pipeline stage. Rank r is at position r % positions of stage r / positions.
int positions_of(const llm::Layout& layout);

/// [layer] the pipeline stage that has it. REQUIRES: no fault.
std::vector<int> stages_of_layers(const Side& side);

/// The stages that have the token embedding: the first, and the last where the head is tied to it.
std::vector<int> embedding_stages(const Side& side);

}  // namespace dovetail::realloc
