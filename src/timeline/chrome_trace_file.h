// Reading traces in the Trace Event Format, which chrome://tracing, Perfetto and PyTorch's profiler know, and which
// report::render_chrome_trace writes: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"

namespace dovetail::timeline {

/// A slice of a thread. Times are ns since the first event of the trace.
struct TraceSlice {
  base::Ticks begin;
  base::Ticks end;
  std::int32_t name = 0;      ///< index into ChromeTrace::names
  std::int32_t category = 0;  ///< index into ChromeTrace::categories
};

/// Slices of one level of a thread, in order of time, none over another. What runs within another slice is one level deeper.
struct TraceLane {
  std::string name;  ///< "process · thread"; the process alone where it has one thread
  int level = 0;
  std::vector<TraceSlice> slices;
};

/// A counter of a process.
struct TraceCounter {
  std::string name;                                    ///< "memory", or "memory · used" where an event holds several series
  std::string key;                                     ///< of its values: "bytes", "used"
  std::size_t lane = 0;                                ///< the first of its process
  std::vector<std::pair<base::Ticks, double>> values;  ///< times ascending, each once: the last value of the time
};

struct ChromeTrace {
  base::Ticks end;  ///< of the last event; the first is at 0
  std::vector<std::string> names;
  std::vector<std::string> categories;  ///< "" where a slice has none
  std::vector<TraceLane> lanes;         ///< processes and threads by their sort indices, then as they come; then by level
  std::vector<TraceCounter> counters;
  std::map<std::string, std::string, std::less<>> about;  ///< the texts of "otherData": who wrote it, what it is of
  std::vector<std::string> notes;                         ///< what was left out or made up, a sentence each
};

/// The category of slices that stand for idle time. A process with two threads, one of which has nothing else, is one lane.
inline constexpr std::string_view idle_category = "idle";

/// Whether `content` looks like a trace: a JSON list of objects, or an object with "traceEvents" near its start.
bool is_chrome_trace(std::string_view content);

/// Reads complete (X), begin and end (B, E), metadata (M) and counter (C) events; others are passed over. Times are microseconds, rounded
/// half up to whole ns. A slice that never ends lasts until the trace does, an end without a beginning is left out; both are noted. An
/// Error, with its place, where a value that is needed is missing or of another kind, or where no slice is there.
base::Result<ChromeTrace> parse_chrome_trace(std::string_view content, const std::string& path);

}  // namespace dovetail::timeline
