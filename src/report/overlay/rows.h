// Rows of two timelines that stand for devices, divided so that they can be compared. Private to report.
#pragma once

#include "timeline/timeline.h"

namespace dovetail::report {

/// `timeline` with each row of devices divided into those that are in one row of `other` too, so that each row has the
/// same devices in both or is in one alone; in order of their first devices where all rows are of devices. Divided by
/// each other, both have the same rows.
timeline::Timeline divide_rows(const timeline::Timeline& timeline, const timeline::Timeline& other);

}  // namespace dovetail::report
