// A timeline in the Trace Event Format that Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "timeline/timeline.h"

namespace dovetail::report {

/// JSON with a process a device (threads "compute" and "idle"), a slice a bar, a flow arrow a transfer, and a counter of the
/// activation held. Times are microseconds; one tick counts as one.
std::string render_chrome_trace(const timeline::Timeline& timeline);

}  // namespace dovetail::report
