// How long a model's parts take on this machine: what a profile (cost/profile.h) says of it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cost/profile.h"
#include "llm/computation.h"
#include "llm/transformer.h"

namespace dovetail::runtime {

/// Tokens that are decoded behind each context.
inline constexpr std::int64_t decode_steps = 8;

/// What is measured of a model.
struct TimesGrid {
  std::vector<std::int64_t> lengths;    ///< of the sequences of a micro-batch, ascending
  std::vector<std::int64_t> sequences;  ///< of a micro-batch, ascending
  double scored = 0.5;                  ///< the part of a sequence, its end, that the head looks at: responses
  std::vector<std::int64_t> batches;    ///< of sequences that are decoded together, ascending; none: nothing is decoded
  std::vector<std::int64_t> contexts;   ///< before each of them, ascending
};

/// The seconds of a layer, the embedding, the head, decode steps and the optimizer, with random weights in fp32. Two
/// models with one and two layers are timed: a layer is what the second takes longer, and the whole model's decode step
/// as many layers longer. The head's are of micro-batches of so many tokens, of which it looks at the scored part.
/// `gpu` is left empty. A Failure::invalid Error where the machine is so busy that two layers are never slower than
/// one. REQUIRES: the shape has a language model's head.
base::Result<cost::LayerProfile> measure_model(const llm::Transformer& shape, const llm::Computation& computation,
                                               const TimesGrid& grid);

}  // namespace dovetail::runtime
