// Colours of the HTML report: work by model, idle time by cause, each for light and for dark ground.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "report/page/page.h"

namespace dovetail::report {

/// `color`, and for dark ground the same hue, lighter where it is dark.
Ink ink_of(Color color);

/// Of bars of a bar kind and a track, an index of `tracks` (-1: none): work in its track's colours, lighter for forward
/// passes and prefill, darker for decoding and backward passes, the darkest for optimizers; others for what belongs to
/// no model or moves data; idle time by its cause.
Ink ink_of(const std::vector<timeline::Track>& tracks, timeline::BarKind bar_kind, std::int32_t track);

/// Which of the idle colours a cause has.
std::size_t cause_of(timeline::BarKind idle);

/// Quiet colours for causes of idle time, apart from each other and from work; they repeat after seven.
Ink idle_ink(std::size_t cause);

/// Colours for work that serves models, such as moving weights; apart from each other, from idle time and from models.
/// They repeat after four.
Ink service_ink(std::size_t kind);

/// Colours for work that belongs to no model: names of a trace, curves. The first eight are the dark shades of the
/// models' hues, the next their light ones; they repeat after sixteen.
Ink plain_ink(std::size_t index);

}  // namespace dovetail::report
