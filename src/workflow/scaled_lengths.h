// Distributions of lengths that have grown, shrunk or been cut.
#pragma once

#include <cstdint>
#include <optional>

#include "workflow/lengths.h"

namespace dovetail::workflow {

/// Every length times `factor`, rounded, at least one token where it is not 0; what would be longer than `cap` ends
/// there. Of lengths that a cap has cut already nobody knows how long they would have been: they grow from it.
/// REQUIRES: factor > 0, 1 <= cap.
LengthDistribution scaled(const LengthDistribution& lengths, double factor, std::int64_t cap = max_length);

/// The least factor by which the mean of scaled(lengths, factor, cap) is at least `mean` tokens, within one part in a
/// million, and not below where all are one token; nothing where no factor does, because the cap is below it. REQUIRES:
/// mean > 0.
std::optional<double> factor_for_mean(const LengthDistribution& lengths, double mean, std::int64_t cap = max_length);

/// The factor by which half of scaled(lengths, factor, cap) are no longer than `median` tokens; nothing where the cap
/// is below it. Where half of the lengths are 0, nothing, too. REQUIRES: median > 0.
std::optional<double> factor_for_median(const LengthDistribution& lengths, double median,
                                        std::int64_t cap = max_length);

/// Responses that end where prompt and response are `cap` tokens together: prompts and responses come together
/// independently, prompts by 64 of their quantiles. REQUIRES: cap > prompts.longest().
LengthDistribution cut_to_room(const LengthDistribution& responses, const LengthDistribution& prompts,
                               std::int64_t cap);

}  // namespace dovetail::workflow
