// What the slowest data-parallel rank works on: an optimizer step, or a forward pass over a batch, ends when the rank
// with the most tokens does (docs/facts.md#training-and-forward-passes).
#pragma once

#include <vector>

#include "cost/batches.h"
#include "llm/counts.h"

namespace dovetail::cost {

/// A data-parallel rank's part of one step.
struct Share {
  double sequences = 0;
  llm::Tokens tokens;
};

/// The expected maximum of `count` independent standard normal variables, and of its square. Sums over a grid of 1/8,
/// exact to 1e-9. REQUIRES: count >= 1.
struct NormalMaximum {
  double mean = 0;
  double square = 0;
};
NormalMaximum normal_maximum(int count);

/// The share of the rank that is expected to have the most tokens, of `ranks` that get n = sequences / steps / ranks
/// sequences each.
///
/// Where software balances (Batch::balanced) all shares are equal, but for a sequence longer than what the others of
/// its share leave of that: at least the longest of all, with the n - 1 shortest. Where it does not, shares are sums of
/// n lengths as they come, of mean n m, variance n v and skewness g / sqrt(n). The expected maximum is, with Z the
/// largest of so many standard normal variables, n m + sqrt(n v) (E Z + g (E Z^2 - 1) / (6 sqrt(n))) (Cornish and
/// Fisher 1938, first two terms); of one sequence each, that of the lengths themselves. Squares grow with tokens as
/// they do from one sequence to the next: by Cov(l, l^2) / v for each token above n m. REQUIRES: steps and ranks >= 1.
Share slowest_share(const Batch& batch, double steps, int ranks);

/// The expected tokens of each of these ranks as parts of the slowest one's: the first is 1, and none has more than the
/// one before. Where software balances, all but one that has a sequence too long for that share the rest. Where it does
/// not, the k-th of R is at the quantile 1 - (k - 0.375) / (R + 0.25) (Blom 1958) of the distribution that
/// slowest_share speaks of, but for a factor such that all ranks together have all tokens. REQUIRES: as slowest_share.
std::vector<double> shares_of_ranks(const Batch& batch, double steps, int ranks);

/// Micro-batches of a share, as count_micro_batches and whole_micro_batches of as many tokens.
double count_micro_batches(const Batch& batch, const Share& share, const MicroBatching& micro_batching);
int whole_micro_batches(const llm::Layout& layout, const Batch& batch, const Share& share,
                        const MicroBatching& micro_batching);

}  // namespace dovetail::cost
