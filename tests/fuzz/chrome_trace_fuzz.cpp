// Parses Chrome traces. Checks that bars are in order, within the trace, and do not overlap on a lane.
#include "fuzz.h"
#include "timeline/chrome_trace_file.h"

namespace timeline = dovetail::timeline;
using dovetail::base::Ticks;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trace = timeline::parse_chrome_trace(dovetail::fuzz::as_text(data, size), "input");
  if (!trace.ok()) return 0;
  for (std::size_t lane = 0; lane < trace->lanes.size(); ++lane) {
    Ticks now;
    for (const timeline::Bar& bar : timeline::bars_of(*trace, lane)) {
      DOVETAIL_ASSERT(now <= bar.begin && bar.begin <= bar.end && bar.end <= trace->end);
      DOVETAIL_ASSERT(static_cast<std::size_t>(bar.name) < trace->names.size());
      now = bar.end;
    }
  }
  for (const timeline::Counter& counter : trace->counters) {
    DOVETAIL_ASSERT(counter.lane < trace->lanes.size());
    for (std::size_t i = 1; i < counter.steps.size(); ++i)
      DOVETAIL_ASSERT(counter.steps[i - 1].first < counter.steps[i].first);
  }
  return 0;
}
