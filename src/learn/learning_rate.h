// How the learning rate goes on over a run.
#pragma once

#include <array>
#include <cstdint>

#include "base/enum_names.h"

namespace dovetail::learn {

enum class RateShape { constant, linear, cosine };
constexpr auto names_of(RateShape) {
  return std::array{base::EnumName{"constant", RateShape::constant}, base::EnumName{"linear", RateShape::linear},
                    base::EnumName{"cosine", RateShape::cosine}};
}

/// The part of the full rate that optimizer step `step` (from 0) of `steps` has. The first `warmup` steps have 1 / (w +
/// 1), 2 / (w + 1), ..., so that none is for nothing; behind them `constant` stays at 1, the others fall to `minimum`
/// at the last step: in a straight line, or as half a wave of the cosine.
double rate_part(RateShape shape, std::int64_t warmup, double minimum, std::int64_t step, std::int64_t steps);

}  // namespace dovetail::learn
