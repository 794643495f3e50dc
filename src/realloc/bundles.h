// Bundles: blocks of weights that the same devices hold and the same devices need.
//
// Layers of the same kind (dense or with experts) have the same tensors, so a few hundred bundles represent hundreds of
// thousands of blocks. The patterns of a kind of layer are computed once. Each pair of a source stage and a destination
// stage that share such layers uses them for its bundles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llm/tensors.h"
#include "realloc/side.h"

namespace dovetail::realloc {

/// A rectangle of a tensor.
struct TensorBlock {
  int tensor = 0;  ///< index among the tensors of its layer; 0 outside the layers
  llm::Slice slice;
};

/// Blocks of one layer, or of one tensor outside the layers, that have the same holders and destinations.
struct Pattern {
  std::vector<TensorBlock> blocks;
  std::vector<std::int64_t> ends;  ///< [block] number of elements of this block and all blocks before it

  std::int64_t elements() const { return ends.back(); }
};

/// The blocks of one pattern in all layers that are on the same source stage and on the same destination stage. The
/// bundle's stream is the sequence of its elements: layer by layer, block by block, row by row.
struct Bundle {
  std::size_t pattern = 0;
  /// [layer of the bundle] index in llm::tensors_of(destination.model) of the layer's first tensor. A bundle outside
  /// the layers has one entry, the index of its tensor.
  std::vector<int> first_tensors;
  std::vector<DeviceId> holders;  ///< devices that hold it before the reallocation; ascending, at least one
  std::vector<DeviceId> lacking;  ///< devices that need it and do not hold it; ascending, at least one
  std::int64_t elements = 0;      ///< number of elements of the stream
};

struct Bundles {
  std::vector<Pattern> patterns;
  std::vector<Bundle> bundles;
};

/// Returns the bundles that must move from `source` to `destination`. Together they contain, exactly once, every weight
/// that both models have and that some device of the destination needs and lacks. With `trained_only`, they contain
/// only adapters if the model has any. A head that is tied to the embedding is not a separate tensor: its stage holds
/// the embedding. REQUIRES: find_fault(cluster, source, destination) returns nullopt for their cluster.
Bundles bundles_of(const Side& source, const Side& destination, bool trained_only);

/// Position of an element of a bundle's stream.
struct StreamPlace {
  std::int64_t block = 0;   ///< index over all layers: layer * blocks of the pattern + index in the pattern
  std::int64_t row = 0;     ///< row, relative to the block's first row
  std::int64_t column = 0;  ///< column, relative to the block's first column
};
StreamPlace place_of(const Pattern& pattern, std::int64_t element);

/// Returns the first element of the row that contains `element`. A stream may be cut only at the start of a row.
/// REQUIRES: 0 <= element <= number of elements of the stream.
std::int64_t row_start(const Pattern& pattern, std::int64_t element);

}  // namespace dovetail::realloc
