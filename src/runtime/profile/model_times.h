// How long a model's parts take on this machine: what a profile (cost/profile.h) says of it.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/profile.h"
#include "llm/computation.h"
#include "llm/transformer.h"

namespace dovetail::runtime {

/// What is measured of a model.
struct TimesGrid {
  std::vector<std::int64_t> lengths;    ///< of the sequences of a micro-batch, ascending
  std::vector<std::int64_t> sequences;  ///< of a micro-batch, ascending
  std::vector<std::int64_t> batches;    ///< of sequences that are decoded together, ascending; none: nothing is decoded
  std::vector<std::int64_t> contexts;   ///< before each of them, ascending
};

/// The seconds of a layer, the embedding, the head, decode steps and the optimizer, with random weights in fp32. Two
/// models with one and two layers are timed: a layer is what the second takes longer, and as many times longer takes
/// the whole model's decode step. `gpu` is left empty. REQUIRES: the shape has a language model's head.
cost::LayerProfile measure_model(const llm::Transformer& shape, const llm::Computation& computation,
                                 const TimesGrid& grid);

}  // namespace dovetail::runtime
