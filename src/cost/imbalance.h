// How much later the slowest of several generation instances ends than the average one: they are dealt different
// lengths.
#pragma once

#include "workflow/lengths.h"

namespace dovetail::cost {

/// What a sequence adds to the decode steps of its instance, in seconds.
struct SequenceSeconds {
  double step = 0;     ///< to each step that it is in
  double context = 0;  ///< to each of these, for each token before it
};

/// What the slowest of `instances` is expected to take beyond the average one, in seconds. Each has `sequences` (> 0)
/// with independent lengths, of which one of l tokens behind a prompt of p adds `step` l + `context` (p l + l^2 / 2).
/// The sums of instances are taken for normal ones, the largest of n by its quantile: (n - 3/8) / (n + 1/4) of a normal
/// distribution lies below it (Blom, Statistical Estimates and Transformed Beta-Variables, 1958). That is 4% above the
/// expected maximum of two, and within 1% from eight on; sums of fewer than a hundred or so lengths with a long tail
/// are skewed, so that their maximum is up to a tenth more. 0 for one instance and where all lengths are equal; the
/// same on every machine.
///
/// How many steps an instance takes is no part of it: generation_seconds counts them up to the last sequence of all
/// instances.
double imbalance_seconds(const SequenceSeconds& added, double prompt, const workflow::LengthDistribution& responses,
                         double sequences, int instances);

}  // namespace dovetail::cost
