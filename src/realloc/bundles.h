// What moves alike: pieces of weights that the same devices hold and the same devices need.
//
// The layers of a model are alike, and so are its matrices: a few hundred bundles stand for hundreds of thousands of
// pieces. What a bundle consists of is worked out once for each kind of layer, and instantiated for each pair of a
// source and a destination stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llm/tensors.h"
#include "realloc/side.h"

namespace dovetail::realloc {

/// A rectangle of a tensor.
struct Piece {
  int tensor = 0;  ///< index among those of its layer; 0 outside of the layers
  llm::Slice slice;
};

/// The pieces of one layer (or of one tensor outside of the layers) that move alike.
struct Pattern {
  std::vector<Piece> pieces;
  std::vector<std::int64_t> ends;  ///< [piece] elements of this piece and those before it

  std::int64_t elements() const { return ends.back(); }
};

/// The same pattern in several layers. Its stream is all of its elements in a row: layer by layer, piece by piece, row
/// by row.
struct Bundle {
  std::size_t pattern = 0;
  /// [layer] index in llm::tensors_of(destination.model) of the first tensor of the layer
  std::vector<int> first_tensors;
  std::vector<DeviceId> holders;  ///< that have it before; ascending, at least one
  std::vector<DeviceId> lacking;  ///< that shall have it and have not; ascending, at least one
  std::int64_t elements = 0;      ///< of the stream
};

struct Bundles {
  std::vector<Pattern> patterns;
  std::vector<Bundle> bundles;
};

/// What has to move from `source` to `destination`, each element in one bundle: every weight that both models have and
/// some device lacks, or of these the trained ones (adapters, where there are any). A tied head is the embedding
/// wherever it is held. REQUIRES: no fault.
Bundles bundles_of(const Side& source, const Side& destination, bool trained_only);

/// Where an element of a bundle's stream is.
struct StreamPlace {
  std::int64_t piece = 0;   ///< counted over all layers: layer * pieces of the pattern + index in the pattern
  std::int64_t row = 0;     ///< counted from the piece's first
  std::int64_t column = 0;  ///< likewise
};
StreamPlace place_of(const Pattern& pattern, std::int64_t element);

/// The last row of a piece to begin at or before `element`, 0 <= element <= the stream's end: streams are cut there.
std::int64_t row_start(const Pattern& pattern, std::int64_t element);

}  // namespace dovetail::realloc
