#include "report/schedule/trace_page.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "answer/words/text.h"
#include "report/page/chart_sections.h"

namespace dovetail::report {

Page trace_page(timeline::Timeline trace, std::string title) {
  trace.time_unit = base::TimeUnit::us;
  Page page;
  page.title = std::move(title);
  page.subtitle = "A Chrome trace.";
  page.figures.push_back({"lasts", time_text(trace.end, trace.time_unit), ""});
  page.figures.push_back({"slices", fmt::format("{}", trace.bars.size()),
                          fmt::format("in {}", answer::counted(static_cast<std::int64_t>(trace.lanes.size()), "row"))});
  Breakdown breakdown = time_breakdown(trace);
  breakdown.note = "Time of the slices of each row. What runs within another slice counts in its own row as well.";
  page.sections.push_back(Chart{"Timeline", "", std::move(trace)});
  page.sections.push_back(std::move(breakdown));
  return page;
}

}  // namespace dovetail::report
