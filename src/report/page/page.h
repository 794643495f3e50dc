// What the HTML report shows: a title, headline figures, and sections in the order in which they are read. Schedules,
// simulated iterations and traces all become a Page; render_html draws it, without knowing which of them it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "answer/question/section.h"
#include "base/quantity.h"
#include "report/page/palette.h"
#include "timeline/timeline.h"

namespace dovetail::report {

/// A colour on a light ground, and the one that stands for it on a dark ground.
struct Ink {
  Color light;
  Color dark;
};

/// A number that the page starts with. All are texts as they are shown.
struct Figure {
  std::string name;   ///< "makespan"
  std::string value;  ///< "225 ticks"
  std::string note;   ///< "the shortest possible"; may be empty
};

/// A Gantt chart with curves below it: the counters that are drawn.
struct Chart {
  std::string title;
  std::string note;  ///< a sentence on how to read it; may be empty
  timeline::Timeline timeline;
};

/// What times are made of: a bar of parts a row.
struct Breakdown {
  struct Part {
    std::string name;
    Ink ink;
    bool idle = false;
  };
  struct Row {
    std::string name;
    std::vector<base::Ticks> amounts;       ///< [part]
    std::optional<base::Ticks> whole = {};  ///< what fills the row; nothing: the sum of its amounts
  };
  std::string title;
  std::string note;
  base::TimeUnit time_unit = base::TimeUnit::tick;
  std::vector<Part> parts;
  std::vector<Row> rows;  ///< the first is drawn larger: the sum, or the mean, of the others
};

/// Ranked alternatives with why each lost, differences, what-ifs. A row may lead to a bar of the chart above.
using answer::Align;
using answer::Table;

/// Results over an input that was varied, such as a threshold.
struct LineChart {
  struct Series {
    std::string name;
    Ink ink;
    std::vector<std::pair<double, double>> points;  ///< x ascending
  };
  struct Mark {
    std::size_t series = 0;
    std::size_t point = 0;
    std::string text;  ///< "best: 20%"
  };
  std::string title;
  std::string note;
  std::string x_name;
  std::string y_name;
  std::vector<Series> series;
  std::vector<Mark> marks;
};

using Section = std::variant<Chart, Breakdown, Table, LineChart>;

struct Page {
  std::string title;
  std::string subtitle;
  std::vector<Figure> figures;
  std::vector<Section> sections;
};

}  // namespace dovetail::report
