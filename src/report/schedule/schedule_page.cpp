#include "report/schedule/schedule_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "answer/text/text.h"
#include "fuse/bounds/bounds.h"
#include "pipeline/schedule/evaluate.h"
#include "report/page/chart_sections.h"
#include "report/page/summary.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::report {
namespace {

using timeline::Timeline;

void add_capacities(Timeline& timeline, const pipeline::Problem& problem) {
  const std::vector<base::Memory> headroom = pipeline::headroom_of(problem, std::nullopt);
  for (timeline::Counter& counter : timeline.counters) {
    if (headroom[counter.lane] != base::Memory::max()) counter.capacity = headroom[counter.lane];
  }
}

std::vector<Figure> figures_of(const pipeline::Problem& problem, const Timeline& timeline, const Summary& summary) {
  const auto time = [&](base::Ticks ticks) { return time_text(ticks, timeline.time_unit); };
  const base::Ticks bound = fuse::bounds_of(problem).makespan;
  const double gap = static_cast<double>((timeline.end - bound).count()) /
                     static_cast<double>(std::max<std::int64_t>(bound.count(), 1));
  std::vector<Figure> figures;
  figures.push_back(
      {"makespan", time(timeline.end),
       timeline.end == bound ? "proven optimal" : fmt::format("lower bound {}, gap {}", time(bound), percent(gap))});
  figures.push_back({"idle", percent(summary.idle_share), "of total device time"});
  if (summary.has_memory) {
    const std::string device = timeline.lanes[summary.fullest_lane].name;
    figures.push_back({"peak activation", base::format_memory(summary.peaks[summary.fullest_lane]),
                       fmt::format("on {} at {}", device, time(summary.peak_time))});
  }
  figures.push_back(
      {"ops", fmt::format("{}", summary.work_bars),
       fmt::format("{} on {}", answer::counted(static_cast<std::int64_t>(timeline.tracks.size()), "pipeline"),
                   answer::counted(static_cast<std::int64_t>(timeline.lanes.size()), "device"))});
  return figures;
}

}  // namespace

Page schedule_page(const pipeline::Schedule& schedule, std::string title) {
  Timeline timeline = timeline::schedule_timeline(schedule.problem, pipeline::evaluate(schedule), title);
  add_capacities(timeline, schedule.problem);
  Page page;
  page.title = std::move(title);
  page.subtitle = "A schedule of pipelines that share devices.";
  page.figures = figures_of(schedule.problem, timeline, summarize(timeline));
  page.sections.push_back(time_breakdown(timeline));
  page.sections.push_back(idle_breakdown(timeline));
  page.sections.push_back(wait_table(timeline));
  constexpr const char* note =
      "Each row is a device. Full-height bars are work; low bars are idle time, colored by cause.";
  page.sections.insert(page.sections.begin(), Chart{"Timeline", note, std::move(timeline)});
  return page;
}

Page trace_page(timeline::Timeline trace, std::string title) {
  trace.time_unit = base::TimeUnit::us;
  Page page;
  page.title = std::move(title);
  page.subtitle = "A Chrome trace.";
  page.figures.push_back({"duration", time_text(trace.end, trace.time_unit), ""});
  page.figures.push_back({"slices", fmt::format("{}", trace.bars.size()),
                          fmt::format("in {}", answer::counted(static_cast<std::int64_t>(trace.lanes.size()), "row"))});
  Breakdown breakdown = time_breakdown(trace);
  breakdown.note = "Time of the slices on each row. Nested slices count on their own row as well.";
  std::string note = "Rows marked with ▸ hold slices that are nested in those of the row above.";
  note += term_sentences(trace);
  page.sections.push_back(Chart{"Timeline", std::move(note), std::move(trace)});
  page.sections.push_back(std::move(breakdown));
  return page;
}

}  // namespace dovetail::report
