// Helpers shared by the tests of an engine's occupancy.
#pragma once

#include "cost/occupancy.h"

namespace dovetail::cost::test {

/// Total over an occupancy's parts.
inline double all_tokens(const Occupancy& occupancy) {
  double tokens = 0;
  for (const Occupancy::Stretch& stretch : occupancy.stretches) tokens += stretch.steps * stretch.sequences;
  return tokens;
}

}  // namespace dovetail::cost::test
