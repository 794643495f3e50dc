// A chart that begins elsewhere. Private to report.
#pragma once

#include "report/page/page.h"

namespace dovetail::report {

/// Where the stretch of a chart that repeats ends: behind it, what an iteration adds on all devices is the last bar of every row
/// of devices (simulate::Activity::hand_over of no task). The end of the chart where there is no such bar.
base::Ticks stretch_end(const Chart& chart);

/// A chart that repeats, from its time `begin` on: what is before stands at the end of the stretch that repeats, what is behind that
/// stretch stays last. Bars that the end of the stretch cuts are one, those that run at `begin` are cut. Curves likewise.
/// REQUIRES: 0 <= begin < stretch_end.
Chart turned(const Chart& chart, base::Ticks begin);

/// Whether the bars are of one kind, with the same fields but times.
bool is_same_work(const Chart& chart, std::size_t bar, std::size_t other);

/// The chart, everything `by` later.
Chart delayed(Chart chart, base::Ticks by);

}  // namespace dovetail::report
