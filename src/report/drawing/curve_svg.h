// Results over an input that was varied, as an SVG picture.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dovetail::report {

/// Lines over one input in panels below each other.
struct CurvePicture {
  /// A value of the input.
  struct Place {
    double x = 0;
    std::string label;    ///< "20%"; empty: it is not named
    bool hollow = false;  ///< its points are drawn as rings
  };
  /// The least and the most of what a point is the mean of.
  struct Range {
    double least = 0;
    double most = 0;
  };
  struct Line {
    std::string name;
    std::vector<std::optional<double>> values;      ///< [place]; nothing: a gap
    std::vector<std::optional<Range>> ranges = {};  ///< [place], shaded; may be empty
    bool is_bridged = false;                        ///< goes on behind a gap as if there was none
  };
  /// A value that does not depend on the input, or a limit.
  struct Level {
    std::string name;
    double value = 0;
  };
  /// A point that stands out.
  struct Mark {
    std::size_t line = 0;
    std::size_t place = 0;
    std::string text;  ///< "best: 20%"
  };
  struct Panel {
    std::string name;  ///< what it shows, with its unit: "iteration (s)"
    std::vector<Line> lines;
    std::vector<Level> levels = {};
    std::vector<Mark> marks = {};
    bool is_linear = false;  ///< whatever its values span
  };

  std::string title;
  std::string facts;             ///< a line below the title
  std::string x_name;            ///< with its unit
  bool logarithmic = false;      ///< the axis of the input; all x are above 0 then
  std::vector<Place> places;     ///< by rising x
  std::string hollow_name = {};  ///< what rings say: "does not fit"; shown where there are some
  std::vector<Panel> panels;
};

/// A self-contained SVG for light and dark grounds: where the reader prefers a dark one, its style says so. Points name
/// their values as one points at them, as long as they do not touch. An axis of values is logarithmic where they are
/// above 0 and span more than a factor of four, unless the panel is linear, and need not begin at 0. Texts are escaped.
/// REQUIRES: at least one place and one panel, a value in each panel; lines have a value or nothing for each place.
std::string render_curve_svg(const CurvePicture& picture);

}  // namespace dovetail::report
