// Timelines with more bars than a page can hold, with bars that nobody would see apart made one.
#pragma once

#include <cstddef>

#include "timeline/timeline.h"

namespace dovetail::timeline {

struct Thinned {
  Timeline timeline;
  base::Ticks shortest;  ///< neighbouring bars that are no longer together stand as one; 0: every bar is there
};

/// `timeline` with at most `max_bars` bars, where that needs no stretch to be made one that is a hundredth of it or
/// longer. A bar that stands for several has the bar kind and the track that most of their time is of, their launches,
/// and nothing else. Of a counter the most within each such stretch is kept, and what it ends with. REQUIRES: lanes
/// have no gaps, and no bar awaits one or is an arrow's.
Thinned thinned(Timeline timeline, std::size_t max_bars);

}  // namespace dovetail::timeline
