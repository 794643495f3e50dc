// How far apart colours are for people, for tests of palettes.
#pragma once

#include "report/page/palette.h"

namespace dovetail::report {

/// The linear intensity of a channel of sRGB, in [0, 1].
double linear(std::uint8_t channel);

/// How far apart two colours are for those who tell them apart least, of normal, protan, deutan and tritan vision (CIE
/// 1976; about 2 is just noticed).
double min_difference(Color a, Color b);

}  // namespace dovetail::report
