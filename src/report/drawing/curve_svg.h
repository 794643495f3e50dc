// SVG line charts of results over one varied input.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "study/sweep.h"

namespace dovetail::report {

/// A chart of lines over one input. Its panels are stacked vertically.
struct CurvePicture {
  /// A value of the input.
  struct Place {
    double x = 0;
    std::string label;         ///< "20%"; empty: unlabeled
    bool is_outlined = false;  ///< draws the points at this value as rings
  };
  /// Ends of the band at a point, such as the quartiles of the values that it averages.
  struct Range {
    double min = 0;
    double max = 0;
  };
  struct Line {
    std::string name;
    std::vector<std::optional<double>> values;      ///< [place]; nullopt: a gap
    std::vector<std::optional<Range>> ranges = {};  ///< [place], drawn as a band; may be empty
    bool is_bridged = false;                        ///< connects the points on both sides of a gap
  };
  /// A horizontal line: a value that does not depend on the input, or a limit.
  struct Level {
    std::string name;
    double value = 0;
  };
  /// A highlighted point.
  struct Mark {
    std::size_t line = 0;
    std::size_t place = 0;
    std::string text;  ///< "best: 20%"
  };
  struct Panel {
    std::string name;  ///< quantity with its unit: "iteration (s)"
    std::vector<Line> lines;
    std::vector<Level> levels = {};
    std::vector<Mark> marks = {};
    bool is_linear = false;  ///< forces a linear axis
  };

  std::string title;
  std::string facts;               ///< line below the title
  std::string x_name;              ///< name of the input, with its unit
  bool logarithmic = false;        ///< logarithmic input axis; every x must be positive
  std::vector<Place> places;       ///< ascending x
  std::string outlined_name = {};  ///< legend entry of the rings, "does not fit"; shown only if there are rings
  std::vector<Panel> panels;
};

/// Renders a self-contained SVG for light and dark backgrounds. Points show their values on hover, unless a line has
/// too many points. Value axes need not begin at 0. They are logarithmic if all values are positive and span more than
/// a factor of four, unless the panel is linear. Text is escaped. REQUIRES: at least one place and one panel, a value
/// in each panel, and an entry in `values` for each place.
std::string render_curve_svg(const CurvePicture& picture);

/// Builds the charts of a sweep: seconds per iteration (simulated, analytical, and without migration), tokens/s per GPU
/// if the work or the number of devices varies, and peak memory with its limit if the peak varies. The fastest point
/// is marked if all points do the same work. Points whose plan does not fit are rings. REQUIRES: at least one point has
/// a value and figures.
CurvePicture sweep_picture(const study::Sweep& sweep, const std::string& title);

}  // namespace dovetail::report
