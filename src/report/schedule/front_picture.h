// The picture of an answer's front.
#pragma once

#include "answer/schedules/front.h"
#include "report/schedule/pareto_svg.h"

namespace dovetail::report {

/// The front's schedules, its constructions and its bound. REQUIRES: a front, not an answer that no schedule fits.
ParetoPicture picture_of(const answer::FrontAnswer& front);

}  // namespace dovetail::report
