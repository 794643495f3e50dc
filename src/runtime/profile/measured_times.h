// Measurements on this machine: memory reads, matrix products, links, and the parts of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "cost/profile.h"
#include "llm/computation.h"
#include "llm/transformer.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Returns the median; for an even number of values, the upper of the two middle ones. REQUIRES: `values` is not empty.
double median(std::vector<double> values);

/// Returns the median duration of `work` in seconds. Runs it at least three times, and until 0.1 s have passed, after
/// one warm-up run.
double median_seconds(const std::function<void()>& work);

/// Speed of a rank that uses all its threads.
struct RankSpeed {
  double bytes_per_second = 0;  ///< speed of memory reads
  double flops_per_second = 0;  ///< speed of fp32 matrix products
};
RankSpeed measure_speed();

/// Measures messages between ranks 0 and 1 (half a round trip) and all-reduces over all ranks, in seconds. Must be
/// called on all ranks. Returns an empty vector for a single rank. Only rank 0's result is meaningful. `number` and the
/// next hundred numbers must be unused on Lane::control and Lane::reductions.
base::Result<std::vector<cost::LinkProfile>> measure_links(transport::Transport& transport, std::uint32_t number,
                                                           transport::Clock::duration timeout);

/// Number of decode steps measured after each context length.
inline constexpr std::int64_t decode_steps = 8;

/// Sizes at which a model is measured.
struct TimesGrid {
  std::vector<std::int64_t> lengths;    ///< sequence lengths of a micro-batch, ascending
  std::vector<std::int64_t> sequences;  ///< sequences per micro-batch, ascending
  double scored = 0.5;                  ///< fraction of a sequence, at its end, that the head scores: the response
  std::vector<std::int64_t> batches;    ///< numbers of sequences decoded together, ascending; empty to skip decoding
  std::vector<std::int64_t> contexts;   ///< context lengths before decoding, ascending
};

/// Measures the times of a layer, the embedding, the head, decode steps and the optimizer, with random fp32 weights.
/// Times a model with one layer and one with two. Their difference is the time of a layer, from which the decode step
/// of the whole model is extrapolated. The embedding and the head are timed only at the greatest length. The head
/// scores the fraction `grid.scored` of the rows. Leaves LayerProfile::gpu empty. Returns a Failure::invalid Error if
/// the machine is so busy that two layers are never slower than one. REQUIRES: the model has a language model head.
base::Result<cost::LayerProfile> measure_model(const llm::Transformer& shape, const llm::Computation& computation,
                                               const TimesGrid& grid);

}  // namespace dovetail::runtime
