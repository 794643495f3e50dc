// The trade between makespan and peak activation as an SVG picture.
#pragma once

#include <string>
#include <vector>

#include "base/quantity.h"

namespace dovetail::report {

/// A place in the picture: what a schedule costs, or where a bound changes.
struct TradePoint {
  base::Ticks makespan;
  base::Memory peak;
};

/// A schedule of the front.
struct FrontPoint {
  TradePoint at;
  bool proven = false;  ///< no schedule at all is better in one and as good in the other
};

/// A schedule to compare the front with.
struct NamedPoint {
  std::string name;
  TradePoint at;
  bool emphasized = false;  ///< the baseline
};

struct ParetoPicture {
  std::string title;
  base::TimeUnit time_unit = base::TimeUnit::tick;
  std::vector<FrontPoint> front;   ///< by rising makespan and falling peak, at least one
  std::vector<NamedPoint> others;  ///< constructions
  /// A falling staircase; the first is at the bound on the makespan, left of which there is nothing.
  std::vector<TradePoint> bound;
};

/// A self-contained SVG: the front as a staircase with the dominated region shaded, below it the region that the bounds
/// rule out, and between both what is open. Points of the front are numbered as in tables, full where they are proven.
/// An axis is logarithmic where what it shows spans more than a factor of four. Texts are escaped. REQUIRES: front and
/// bound are not empty.
std::string render_pareto_svg(const ParetoPicture& picture);

}  // namespace dovetail::report
