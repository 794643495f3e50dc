// From the events of a trace's threads to lanes of bars that do not overlap. Private to timeline.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace dovetail::timeline {

/// An event of a thread: 'X' is a slice, 'B' its beginning and 'E' its end, both at bar.begin.
struct TraceEvent {
  char phase = 'X';
  Bar bar;
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
    std::string unit;                                          ///< as Counter has it
    std::vector<std::pair<base::Ticks, base::Memory>> values;  ///< as they stand in the file
  };
  std::map<std::string, Series> counters = {};  ///< by name
};

/// Fills in lanes, bars, counters and notes of `trace`, all times counted from `origin`; what is open then ends at
/// `last`.
void lay_out(std::vector<TraceProcess> processes, base::Ticks origin, base::Ticks last, Timeline& trace);

}  // namespace dovetail::timeline
