// From the events of a trace's threads to lanes of slices that do not overlap. Private to timeline.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "timeline/chrome_trace_file.h"

namespace dovetail::timeline {

/// An event of a thread: 'X' is a slice, 'B' its beginning and 'E' its end, both at slice.begin.
struct TraceEvent {
  char phase = 'X';
  TraceSlice slice;
};

struct TraceThread {
  std::string name;
  std::int64_t sort_index = 0;
  std::vector<TraceEvent> events;  ///< as they stand in the file
};

struct TraceProcess {
  std::string name;
  std::int64_t sort_index = 0;
  std::vector<TraceThread> threads;
  std::map<std::string, std::size_t> thread_number;
  struct Series {
    std::string key;                                     ///< of its values
    std::vector<std::pair<base::Ticks, double>> values;  ///< as they stand in the file
  };
  std::map<std::string, Series> counters = {};  ///< by name
};

/// Fills in lanes, counters and notes of `trace`, all times counted from `origin`; what is open then ends at `last`.
void lay_out(std::vector<TraceProcess> processes, base::Ticks origin, base::Ticks last, ChromeTrace& trace);

}  // namespace dovetail::timeline
