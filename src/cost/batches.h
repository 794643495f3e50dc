// Batches of sequences: their split into micro-batches, and the share of the slowest data-parallel rank.
//
// An optimizer step, or a forward pass over a batch, ends when the data-parallel rank with the most tokens finishes
// (docs/facts.md#training-and-forward-passes).
#pragma once

#include <cstdint>
#include <vector>

#include "llm/counts.h"
#include "llm/layout.h"
#include "plan/plan.h"
#include "workflow/lengths.h"
#include "workflow/workload.h"

namespace dovetail::cost {

/// The sequences that a task processes in an iteration, each a prompt and its response.
struct Batch {
  double sequences = 0;
  llm::Tokens tokens;                                ///< total over all sequences
  const workflow::LengthDistribution* lengths = {};  ///< distribution of the tokens of a sequence
  /// True: data-parallel ranks get about equal shares of the tokens; false: they get sequences in arrival order
  /// (Conventions::balances_ranks).
  bool balanced = true;
  int together = 1;  ///< sequences that must share a micro-batch: 2 for preference pairs
};

/// Returns a batch of `sequences` sequences with these lengths. `lengths` must outlive the batch.
Batch batch_of(double sequences, const workflow::LengthDistribution& lengths);

/// Returns the distribution of prompt length plus response length. Each prompt length is added to the response length
/// at the same quantile. In fact, prompt and response lengths are hardly correlated, but the error is small, because
/// prompts are short compared with responses. The sums are capped at Workload::sequence_cap or, if the cap is 0, at
/// workflow::max_length.
workflow::LengthDistribution integer_lengths(const workflow::Workload& workload);

using plan::MicroBatching;

/// Returns a limit of tokens or sequences as an integer: rounded down, at most 10^15.
std::int64_t integer_limit(double limit);

/// Returns the number of micro-batches of `sequences` sequences with these lengths, at least 1. Groups of `together`
/// sequences with similar lengths stay in one micro-batch.
/// - With a fixed count: that count, but at most the number of groups.
/// - With a token limit: the number of bins in first-fit decreasing packing of groups, with lengths at evenly spaced
///   quantiles. At most 256 groups are packed; for more, the result is scaled up. A group longer than the limit gets
///   its own micro-batch.
/// - With a sequence limit: the number of groups divided by limit / `together`. Both quotients are rounded up.
double count_micro_batches(const workflow::LengthDistribution& lengths, double sequences,
                           const MicroBatching& micro_batching, int together = 1);

/// Returns the number of micro-batches that a data-parallel rank trains on, rounded up to an integer. With virtual
/// stages, it is rounded up to a multiple of the pipeline stages, as interleaved 1F1B requires. Each micro-batch is
/// then smaller. (Megatron-LM rejects other numbers; verl rounds up, too.)
int count_whole_micro_batches(const llm::Layout& layout, const workflow::LengthDistribution& lengths, double sequences,
                              const MicroBatching& micro_batching, int together = 1);

/// A data-parallel rank's share of the batch in one step.
struct Share {
  double sequences = 0;
  llm::Tokens tokens;
};

/// Expected values of the maximum of independent standard normal variables, and of the square of this maximum.
struct NormalMaximum {
  double mean = 0;
  double square = 0;
};
/// Returns the NormalMaximum of `count` variables, by a sum over a grid with spacing 1/8. Exact to 1e-8 for up to 8192
/// variables. REQUIRES: count >= 1.
NormalMaximum normal_maximum(int count);

/// Returns the expected share of the rank with the most tokens. Each of `ranks` ranks gets n = sequences / steps /
/// ranks sequences.
///
/// If the software balances ranks (Batch::balanced), all shares are equal unless the longest sequence and n - 1 short
/// ones exceed an equal share. In that case, these sequences are the largest share.
///
/// Otherwise, shares are sums of n lengths in arrival order. If lengths have mean m, variance v and skewness g, the
/// sums have mean n m, variance n v and skewness g / sqrt(n). Let Z be the maximum of `ranks` standard normal
/// variables. The expected maximum of the sums is n m + sqrt(n v) (E Z + g (E Z^2 - 1) / (6 sqrt(n))) (Cornish and
/// Fisher 1938, first two terms). For shares of one sequence, it is the expected maximum of the lengths themselves. For
/// each token above n m, the sum of squared lengths grows by Cov(l, l^2) / v, where l is a length. REQUIRES: steps and
/// ranks >= 1.
Share slowest_share(const Batch& batch, double steps, int ranks);

/// Returns the expected tokens of each rank relative to the slowest rank, in descending order from 1. The slowest rank
/// has slowest_share, and the other ranks have the remaining tokens. With balancing, their shares are equal. Without
/// balancing, they are proportional to quantiles of the distribution described at slowest_share. The k-th largest of R
/// shares has the quantile 1 - (k - 0.375) / (R + 0.25) (Blom 1958). REQUIRES: steps and ranks >= 1.
std::vector<double> shares_of_ranks(const Batch& batch, double steps, int ranks);

/// Return the number of micro-batches of a share, by the rules of the overloads above. With a token limit, the share
/// counts as sequences of mean length with the same total of tokens.
double count_micro_batches(const Batch& batch, const Share& share, const MicroBatching& micro_batching);
int count_whole_micro_batches(const llm::Layout& layout, const Batch& batch, const Share& share,
                              const MicroBatching& micro_batching);

}  // namespace dovetail::cost
