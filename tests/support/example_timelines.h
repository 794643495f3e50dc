// Timelines for the tests of drawings.
#pragma once

#include <cstdint>
#include <string>

#include "timeline/timeline.h"

namespace dovetail::test {

/// Two lanes, 10 ticks, two pipelines of different models, every kind of idle time but delay, one arrow; device 1 is
/// the fullest.
timeline::Timeline small_timeline();

/// The names and the title of small_timeline, made of what has to be escaped: markup, quotes, control characters,
/// broken UTF-8.
timeline::Timeline hostile_timeline();

/// `lanes` lanes with `bars` bars of work each, of two tracks in turn, forward and backward, with idle time after every
/// third.
timeline::Timeline large_timeline(std::size_t lanes, std::size_t bars);

}  // namespace dovetail::test
