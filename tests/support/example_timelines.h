// Timelines for the tests of charts.
#pragma once

#include <cstdint>
#include <string>

#include "timeline/timeline.h"

namespace dovetail::test {

/// Returns a timeline with two lanes of 10 ticks, two pipelines of different models, idle time of the kinds warm-up,
/// dependency, transfer and drain, and one arrow. Device 1 has the higher peak.
timeline::Timeline small_timeline();

/// Returns small_timeline with names and a title that need escaping: markup, quotes, control characters, broken UTF-8.
timeline::Timeline hostile_timeline();

/// Returns a timeline of `lanes` lanes with `bars` bars of work each, alternating between two tracks and between
/// forward and backward, with idle time after every third.
timeline::Timeline large_timeline(std::size_t lanes, std::size_t bars);

}  // namespace dovetail::test
