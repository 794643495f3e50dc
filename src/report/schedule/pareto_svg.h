// Trade-off between makespan and peak activation as an SVG picture.
#pragma once

#include <string>
#include <vector>

#include "answer/schedules/front.h"
#include "base/quantity.h"

namespace dovetail::report {

/// Costs of a schedule, or a corner of a bound.
struct TradePoint {
  base::Ticks makespan;
  base::Memory peak;
};

/// A schedule of the front.
struct FrontPoint {
  TradePoint at;
  bool proven = false;  ///< proven that no schedule is better in one cost and at least as good in the other
};

/// A schedule for comparison with the front.
struct NamedPoint {
  std::string name;
  TradePoint at;
  bool emphasized = false;  ///< true for the baseline
};

struct ParetoPicture {
  std::string title;
  base::TimeUnit time_unit = base::TimeUnit::tick;
  std::vector<FrontPoint> front;   ///< ascending makespan and falling peak, at least one
  std::vector<NamedPoint> others;  ///< constructed schedules and the baseline
  /// Corners of a falling staircase that starts at the lower bound on the makespan.
  std::vector<TradePoint> bound;
};

/// Renders a self-contained SVG: the front as a staircase with the dominated region shaded, the region that the bounds
/// rule out, and the open region between them. Points are numbered as in tables and filled if proven. An axis is
/// logarithmic if its values are above 0 and span more than a factor of four. Text is escaped. REQUIRES: front and
/// bound are not empty.
std::string render_pareto_svg(const ParetoPicture& picture);

/// Collects the schedules, reference schedules and bound of a front. REQUIRES: the answer has a front.
ParetoPicture picture_of(const answer::FrontAnswer& front);

}  // namespace dovetail::report
