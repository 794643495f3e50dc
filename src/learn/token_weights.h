// What part of a mini-batch's loss a token is. It hangs on the mini-batch alone: not on micro-batches, ranks or order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/enum_names.h"

namespace dovetail::learn {

enum class Weighing {
  tokens,     ///< all tokens of the mini-batch alike (DAPO, arXiv 2503.14476, section 3.3)
  sequences,  ///< all responses alike, whatever their lengths (GRPO)
  constant,   ///< each token as one of a response of the greatest length (Dr. GRPO, arXiv 2503.20783)
};
constexpr auto names_of(Weighing) {
  return std::array{base::EnumName{"tokens", Weighing::tokens}, base::EnumName{"sequences", Weighing::sequences},
                    base::EnumName{"constant", Weighing::constant}};
}

/// The weight of each token of each response; they add up to 1 but for `constant`, where they do for responses of
/// `max_length`. A response without tokens has no part. REQUIRES: lengths are from 0 to `max_length`, which is above 0.
std::vector<double> token_weights(Weighing weighing, std::span<const std::int64_t> lengths, std::int64_t max_length);

}  // namespace dovetail::learn
