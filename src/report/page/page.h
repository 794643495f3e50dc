// Content of an HTML report: a title, headline figures, and sections in reading order. Schedules, simulated iterations,
// runs and traces are converted to a Page. render_html turns it into a self-contained file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "answer/question/section.h"
#include "base/quantity.h"
#include "report/page/palette.h"
#include "timeline/timeline.h"

namespace dovetail::report {

/// A headline figure, as displayed text.
struct Figure {
  std::string name;
  std::string value;  ///< "225 ticks"
  std::string note;   ///< may be empty: "proven optimal"
};

/// A Gantt chart of a timeline, with the curves of its drawn_counters() below it.
struct Chart {
  std::string title;
  std::string note;  ///< how to read the chart; may be empty
  timeline::Timeline timeline;
};

/// Stacked bars of times, one per row.
struct Breakdown {
  struct Segment {
    std::string name;
    Ink ink;
    bool idle = false;
  };
  struct Row {
    std::string name;
    std::vector<base::Ticks> amounts;             ///< [segment] time of the segment
    std::optional<base::Ticks> full_length = {};  ///< length of the full bar; nullopt: the sum of the amounts
  };
  std::string title;
  std::string note;
  base::TimeUnit time_unit = base::TimeUnit::tick;
  std::vector<Segment> segments;
  std::vector<Row> rows;  ///< the first row is the total of all and is drawn larger
};

using answer::Align;
/// A row of a table may link to a bar of the preceding chart.
using answer::Table;

/// Line chart of results over a varied input, such as a threshold.
struct LineChart {
  struct Series {
    std::string name;
    Ink ink;
    std::vector<std::pair<double, double>> points;  ///< ascending x
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

/// Joins several pages into one: a table of all figures, then the sections of each page. A section's title gets the
/// title of its page as a prefix. REQUIRES: at least one page.
Page join_pages(std::vector<Page> pages);

/// Returns the page with its script, style sheet and data (page_to_json) embedded. Its content security policy blocks
/// loading of other resources. '<' in the data is escaped, so names cannot end the script element.
std::string render_html(const Page& page);

/// Name and version of the format.
inline constexpr const char* page_format = "dovetail/report@1";

/// Returns the JSON object that the page's script reads (schemas/report@1.json). Bars are stored as columns of integers
/// (gap to the previous bar of the lane, length, category, and one column per field), so 100,000 bars take a few
/// megabytes. Times are in ticks if the time unit is `tick`, otherwise in ns.
std::string page_to_json(const Page& page);

/// Returns web/index.html, which contains @TITLE@, @STYLE@, @DATA@ and @SCRIPT@ in this order. cmake/EmbedWeb.cmake
/// generates the source of this function, html_style() and html_script().
std::string_view html_template();
/// Returns web/report.css, minified.
std::string_view html_style();
/// Returns the modules of web/src, bundled into one script.
std::string_view html_script();

}  // namespace dovetail::report
