// A simulated iteration as pictures: an SVG, and a trace that Perfetto and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "report/page.h"
#include "report/palette.h"
#include "simulate/trace.h"

namespace dovetail::report {

/// What is drawn. Times are ns.
struct IterationPicture {
  const simulate::Trace& trace;
  std::vector<std::string> tasks;  ///< [Span::task] its name,
  std::vector<int> roles;          ///< and the role whose colour it has; below 0: none's
  std::string title;
};

/// "0-7,16": ascending device numbers.
std::string device_ranges(const std::vector<int>& devices);

/// "decode of actor_generate", "bubble", "dependency on reward_infer".
std::string describe(const IterationPicture& picture, const simulate::Span& span);

/// The colour of a span: of work its role's hue, lighter for forward passes and prefill, darker for decoding and backward passes, the
/// darkest for optimizers; others for what belongs to no role or moves data; idle time a tint of its cause.
Color color_of(const IterationPicture& picture, const simulate::Span& span);

/// The ink of the HTML page for an activity of a task, or of nobody (-1): work as color_of has it, idle time by its cause.
Ink ink_of(const IterationPicture& picture, simulate::Activity activity, std::int32_t task);

/// A row for each lane, idle time in tints, with time axis and legend; below it the memory in use of the lane that has the most. Spans
/// narrower than half a pixel show where they are the longest of their half pixel.
std::string render_iteration_svg(const IterationPicture& picture);

/// JSON in the Trace Event Format: a process a lane with the threads "work" and "idle", a slice a span, a counter of the memory in use.
/// Times are exact decimals of microseconds.
std::string render_iteration_trace(const IterationPicture& picture);

}  // namespace dovetail::report
