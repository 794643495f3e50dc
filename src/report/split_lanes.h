// Two traces of the same devices with rows that can be compared.
#pragma once

#include "simulate/trace.h"

namespace dovetail::report {

/// `trace` with its lanes cut so that devices share one only if they do in `other` as well; in order of the first device. Both traces cut
/// by each other have the same devices in each lane.
simulate::Trace split_lanes(const simulate::Trace& trace, const simulate::Trace& other);

}  // namespace dovetail::report
