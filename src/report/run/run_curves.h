// The figures of a run over its iterations, as curves of a page and as a picture.
#pragma once

#include <string>
#include <vector>

#include "records/figure_table.h"
#include "report/drawing/curve_svg.h"
#include "report/page/page.h"

namespace dovetail::report {

/// What a run told of itself: the rows of metrics.jsonl and of eval.jsonl.
struct RunFigures {
  records::FigureTable metrics;
  records::FigureTable evaluations;
};

/// Rewards first, then what moves them: divergence, losses, entropy, ratios, gradients; lengths; speed. Charts
/// without a value but 0 are left out, as are figures that were no numbers. Of a long run a point is the mean of
/// several iterations; the note says so.
std::vector<LineChart> run_charts(const RunFigures& figures);

/// The first two of them: what the run is judged by, with the middle half of the rewards shaded. `facts` is a line
/// below the title. REQUIRES: run_charts has one.
CurvePicture run_picture(const RunFigures& figures, std::string title, std::string facts);

}  // namespace dovetail::report
