// How a batch of sequences is cut into micro-batches.
#pragma once

#include <cstdint>

#include "llm/counts.h"
#include "llm/layout.h"
#include "plan/plan.h"
#include "workflow/lengths.h"
#include "workflow/workload.h"

namespace dovetail::cost {

/// What sequences a task works on in an iteration: so many, each a prompt and its response.
struct Batch {
  double sequences = 0;
  llm::Tokens tokens;                                ///< of all of them
  const workflow::LengthDistribution* lengths = {};  ///< of whole sequences, in tokens
  bool balanced = true;  ///< data-parallel ranks get shares of equal tokens (Conventions::balances_ranks)
  int together = 1;      ///< so many sequences stay in one micro-batch: both of a preference pair
};

/// Sequences of which each has a prompt and a response, as if the two were independent: the sum of their means, and of
/// it all, prompt and response of the same quantile for packing. `lengths` must outlive the batch.
Batch batch_of(double sequences, const workflow::LengthDistribution& lengths);

/// The lengths of prompt and response together, the shortest with the shortest: a prompt hardly says how long its
/// response will be, but prompts are short beside responses, so that it matters little. None is longer than
/// Workload::sequence_cap, or workflow::max_length.
workflow::LengthDistribution whole_lengths(const workflow::Workload& workload);

using plan::MicroBatching;

/// A limit of tokens or sequences in whole ones: rounded down, at most 10^15.
std::int64_t whole_limit(double limit);

/// How many micro-batches `sequences` sequences of these lengths make (at least 1): a number, but no more than there
/// are sequences or groups; with tokens, the bins that first-fit decreasing fills with as many lengths at equal
/// quantiles, or with 256 of them, which then stand for all; a sequence that is longer than the limit has one of its
/// own. So many sequences as must stay `together`, of like length, count as one that is as long as all of them.
double count_micro_batches(const workflow::LengthDistribution& lengths, double sequences,
                           const MicroBatching& micro_batching, int together = 1);

/// Those that a data-parallel rank trains on: whole ones. Where the layout has virtual stages their number is rounded
/// up to a multiple of the stages, as interleaved 1F1B needs it (Megatron-LM refuses others, verl rounds up as well),
/// and each is that much smaller.
int whole_micro_batches(const llm::Layout& layout, const workflow::LengthDistribution& lengths, double sequences,
                        const MicroBatching& micro_batching, int together = 1);

}  // namespace dovetail::cost
