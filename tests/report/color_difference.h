// Perceived differences of colors, for tests of palettes.
#pragma once

#include "report/page/palette.h"

namespace dovetail::report {

/// Returns the linear intensity in [0, 1] of an sRGB channel.
double linear(std::uint8_t channel);

/// Returns the smallest difference of two colors over normal, protan, deutan and tritan vision (CIE 1976; about 2 is
/// just noticeable).
double min_difference(Color a, Color b);

}  // namespace dovetail::report
