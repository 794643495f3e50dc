// A simulated iteration as pictures: an SVG, and a trace that Perfetto and chrome://tracing open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/page/page.h"
#include "report/page/palette.h"
#include "simulate/trace.h"

namespace dovetail::report {

/// What is drawn. Times are ns.
struct IterationPicture {
  const simulate::Trace& trace;
  std::vector<std::string> tasks;  ///< [Span::task] its name,
  std::vector<int> roles;          ///< and the role whose colour it has; below 0: none's
  std::string title;
  bool repeats = true;  ///< its end joins its beginning; false: iterations never became steady
};

/// "0-7,16": ascending device numbers.
std::string device_ranges(const std::vector<int>& devices);

/// "device 3", "devices 0-7,16": what a row of these devices is called.
std::string device_row_name(const std::vector<int>& devices);

/// "host link 3", "host links 0-7,16": what a row of the links of these devices to host memory is called; whether one is called so.
std::string host_link_row_name(const std::vector<int>& devices);
bool is_host_link_row(std::string_view name);

/// A row of the picture: what devices do, or what goes over their links to host memory.
struct PictureRow {
  std::string name;
  const simulate::Lane& lane;
};
/// The devices' rows, then those of links, in the order of the trace.
std::vector<PictureRow> rows_of(const IterationPicture& picture);

/// "decode of actor_generate", "reallocation for actor_generate", "dependency on reward_infer"; "bubble" where `task` is empty.
std::string describe(simulate::Activity activity, std::string_view task);
/// The same of a span.
std::string describe(const IterationPicture& picture, const simulate::Span& span);

/// The colour of a span: of work its role's hue, lighter for forward passes and prefill, darker for decoding and backward passes, the
/// darkest for optimizers; others for what belongs to no role or moves data; idle time a tint of its cause.
Color color_of(const IterationPicture& picture, const simulate::Span& span);

/// The ink of the HTML page for an activity of a task, or of nobody (-1): work as color_of has it, idle time by its cause.
Ink ink_of(const IterationPicture& picture, simulate::Activity activity, std::int32_t task);

/// All rows, idle time in tints, with time axis and legend; below it the memory in use of the lane that has the most. Spans
/// narrower than half a pixel show where they are the longest of their half pixel.
std::string render_iteration_svg(const IterationPicture& picture);

/// JSON in the Trace Event Format: a process a row with the threads "work" and "idle", a slice a span, a counter of the memory in use.
/// Times are exact decimals of microseconds.
std::string render_iteration_trace(const IterationPicture& picture);

}  // namespace dovetail::report
