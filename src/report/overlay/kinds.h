// What the bars of a trace are, which is guessed from their names. Private to report.
#pragma once

#include "timeline/timeline.h"

namespace dovetail::report {

/// `named` with what bars of `known` are wherever they are called so: a bar that only has a name is the work of that
/// title, idle time has the cause whose name begins its own ("dependency" of "dependency on reward_infer"), if `known`
/// has it. REQUIRES: `named` has no tracks.
timeline::Timeline with_kinds_of(timeline::Timeline named, const timeline::Timeline& known);

}  // namespace dovetail::report
