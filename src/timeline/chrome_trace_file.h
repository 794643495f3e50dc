// Reading and writing traces in the Trace Event Format, which chrome://tracing, Perfetto and PyTorch's profiler know:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "timeline/timeline.h"

namespace dovetail::timeline {

/// The category of slices that stand for idle time, whose bars are BarKind::idle. A process with two threads, one of
/// which has nothing else, is one lane.
inline constexpr std::string_view idle_category = "idle";

/// Whether `content` looks like a trace: a JSON list of objects, or an object with "traceEvents" near its start.
bool is_chrome_trace(std::string_view content);

/// Reads complete (X), begin and end (B, E), metadata (M) and counter (C) events; others are passed over. Times are
/// microseconds, rounded half up to whole ns, and are counted from the first event. Bars are known by their names and
/// categories alone. A lane is a level of a thread, "process · thread", or the process alone where it has one thread;
/// what runs within another slice is one level deeper and its lane is joined. Processes and threads are in order of
/// their sort indices, then as they come. A counter belongs to the first lane of its process and is named "memory", or
/// "memory · used" where an event holds several series; its unit is "bytes" where its values are called so, else they
/// are rounded to millionths. A trace that Dovetail wrote has its beginning and, in ns, its time unit. A slice that
/// never ends lasts until the trace does, an end without a beginning is left out; both are noted. An Error, with its
/// place, where a value that is needed is missing or of another kind, or where no slice is there.
base::Result<Timeline> parse_chrome_trace(std::string_view content, const std::string& path);

/// JSON with a process a lane (threads "work" and "idle"), a slice a bar, a flow arrow a transfer, and the counters
/// that are drawn. Times are exact decimals of microseconds; one tick counts as one.
std::string render_chrome_trace(const Timeline& timeline);

}  // namespace dovetail::timeline
