// Reads and writes traces in the Trace Event Format of chrome://tracing, Perfetto and the PyTorch profiler:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "timeline/timeline.h"

namespace dovetail::timeline {

/// Category of slices that represent idle time; they are read as bars of BarKind::idle. If one of a process's two
/// threads has only such slices, both threads are read as one lane.
inline constexpr std::string_view idle_category = "idle";

/// Whether `content` looks like a trace: a JSON list of objects, or an object with "traceEvents" near its start.
bool is_chrome_trace(std::string_view content);

/// Reads complete (X), begin and end (B, E), metadata (M) and counter (C) events, and ignores others. Times are
/// microseconds, rounded half up to integer ns, and are counted from the first event. Bars are known only by name and
/// category.
///
/// A lane is a nesting level of a thread. It is named "process · thread", or after the process if that has one thread.
/// Slices within another slice are one level deeper, in a joined lane. Processes and threads are ordered by sort index,
/// then by first appearance.
///
/// A counter belongs to the first lane of its process. It has the name of its events ("memory"), followed by the name
/// of its series if an event holds several ("memory · used"). If its values are named "bytes", that is its unit;
/// otherwise they are rounded to millionths.
///
/// The time unit is us, or ns if a trace written by Dovetail specifies ns. Such a trace also specifies the meaning of
/// time 0, which is otherwise unknown.
///
/// A slice that never ends lasts until the end of the trace, and an end without a beginning is dropped. Both cases add
/// a note. Returns an Error with its position if a required value is missing or of the wrong type, or if there are no
/// slices.
base::Result<Timeline> parse_chrome_trace(std::string_view content, const std::string& path);

/// Returns JSON with a process per lane (threads "work" and "idle"), a slice per bar, a flow arrow per transfer (unless
/// a bar has length 0), and the counters that are drawn. Times are exact decimals of microseconds; one tick counts as
/// one microsecond.
std::string render_chrome_trace(const Timeline& timeline);

}  // namespace dovetail::timeline
