// Reads Chrome traces; what comes out is in order, within the trace, and without overlaps on a lane.
#include "fuzz.h"
#include "timeline/chrome_trace_file.h"

namespace timeline = dovetail::timeline;
using dovetail::base::Ticks;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trace = timeline::parse_chrome_trace(dovetail::fuzz::as_text(data, size), "input");
  if (!trace.ok()) return 0;
  for (const timeline::TraceLane& lane : trace->lanes) {
    Ticks now;
    for (const timeline::TraceSlice& slice : lane.slices) {
      DOVETAIL_ASSERT(now <= slice.begin && slice.begin <= slice.end && slice.end <= trace->end);
      DOVETAIL_ASSERT(static_cast<std::size_t>(slice.name) < trace->names.size());
      now = slice.end;
    }
  }
  for (const timeline::TraceCounter& counter : trace->counters) {
    DOVETAIL_ASSERT(counter.lane < trace->lanes.size());
    for (std::size_t i = 1; i < counter.values.size(); ++i) DOVETAIL_ASSERT(counter.values[i - 1].first < counter.values[i].first);
  }
  return 0;
}
