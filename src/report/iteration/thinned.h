// Traces with more bars than a page can hold, with bars that nobody would see apart made one.
#pragma once

#include <cstddef>
#include <vector>

#include "base/quantity.h"
#include "report/iteration/iteration_picture.h"

namespace dovetail::report {

/// Lanes of a picture's rows, and up to how short spans were made one.
struct ThinnedLanes {
  std::vector<simulate::Lane> lanes;
  base::Ticks shortest;  ///< neighbouring spans that are no longer together stand as one; 0: every span is there
};

/// The rows' lanes with at most `most` spans, where that needs no stretch to be made one that is a hundredth of the trace or longer. A span
/// that stands for several has the activity and the task that most of their time is of, the launches of these and no amount. Of a row's
/// memory the most within each such stretch is kept, and what it ends with.
ThinnedLanes thinned(const std::vector<PictureRow>& rows, base::Ticks end, std::size_t most);

}  // namespace dovetail::report
