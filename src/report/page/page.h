// What the HTML report shows: a title, headline figures, and sections in the order in which they are read. Schedules, simulated
// iterations and traces all become a Page; render_html draws it, without knowing which of them it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/quantity.h"
#include "report/page/palette.h"

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

/// What bars show: an entry of a chart's legend. In `bar_title` and `bar_label`, "{NAME}" stands for the bar's value of that field.
struct Category {
  std::string name;       ///< "actor forward"
  std::string bar_title;  ///< of one of its bars: "F{micro-batch} actor"
  std::string bar_label;  ///< written on a bar where it fits: "{micro-batch}"; may be empty
  Ink ink;
  bool idle = false;  ///< drawn lower than work
};

/// A number that bars have beside their times.
struct Field {
  enum class Kind : std::uint8_t { number, time, text };
  std::string name;
  Kind kind = Kind::number;
  std::vector<std::string> texts = {};    ///< of Kind::text: what the values stand for
  std::vector<std::int64_t> values = {};  ///< [bar]: a number, ticks, or an index of `texts`; -1: this bar has none
};

struct ChartBar {
  base::Ticks begin;
  base::Ticks end;
  std::int32_t category = 0;  ///< index into Chart::categories
  std::int32_t awaits = -1;   ///< idle: the bar that is waited for, or -1
  std::int32_t partner = -1;  ///< of an overlay: the same bar in the other timeline, or -1
};

/// A row of a chart. Its bars follow those of the lane above in Chart::bars, in order of time; they do not overlap.
struct ChartLane {
  std::string name;
  std::size_t bars = 0;
  bool joined = false;  ///< drawn close below the lane above: the two belong together
};

/// What a lane holds over time.
struct Curve {
  std::size_t lane = 0;
  std::vector<std::pair<base::Ticks, double>> steps;  ///< (time, amount from then on), times ascending
  std::optional<double> capacity = {};
};

/// From the end of one bar to the start of another.
struct ChartArrow {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

/// A Gantt chart with curves below it.
struct Chart {
  std::string title;
  std::string note;                ///< a sentence on how to read it; may be empty
  std::string lane_noun = "lane";  ///< in the singular: "device"
  base::TimeUnit time_unit = base::TimeUnit::tick;
  base::Ticks end;  ///< no bar ends later
  std::vector<Category> categories;
  std::vector<ChartLane> lanes;
  std::vector<ChartBar> bars;  ///< lane by lane; a bar's number is its index
  std::vector<Field> fields;
  std::vector<ChartArrow> arrows;
  std::string curve_name;     ///< "activation held"
  std::string curve_unit;     ///< "bytes" is shown as GiB and the like; may be empty
  std::vector<Curve> curves;  ///< at most one a lane
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

/// Rows of texts: ranked alternatives with why each lost, differences, what-ifs.
struct Table {
  struct Column {
    std::string name;
    bool number = false;  ///< to the right, sorted as numbers
  };
  std::string title;
  std::string note;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  ///< [row][column]
  std::vector<std::size_t> marked = {};        ///< rows that stand out: the best
  std::vector<std::int32_t> bars = {};         ///< [row] a bar of the chart above that the row leads to, or -1; may be empty
};

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
