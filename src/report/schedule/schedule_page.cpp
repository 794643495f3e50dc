#include "report/schedule/schedule_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "fuse/bounds/bounds.h"
#include "pipeline/evaluate.h"
#include "report/page/chart_sections.h"
#include "report/page/inks.h"
#include "report/page/summary.h"
#include "report/words/text.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::report {
namespace {

using timeline::Bar;
using timeline::BarKind;
using timeline::Lane;
using timeline::Timeline;

constexpr std::size_t microbatch_field = 0;
constexpr std::size_t stage_field = 1;

/// Categories in order: the kinds of work of each track, then the causes of idle time; only those that take time.
class Categories {
 public:
  explicit Categories(const Timeline& timeline) {
    const Summary summary = summarize(timeline);
    const auto colors = colors_of(timeline.tracks);
    for (std::size_t track = 0; track < timeline.tracks.size(); ++track) {
      for (std::size_t kind = 0; kind < work_kinds; ++kind) {
        if (has_bars(timeline, track, kind)) add_work(timeline.tracks[track].name, track, kind, colors[track][kind]);
      }
    }
    for (std::size_t cause = 0; cause < idle_kinds.size(); ++cause) {
      if (summary.share[static_cast<std::size_t>(idle_kinds[cause])] > 0) add_idle(idle_kinds[cause], cause);
    }
  }

  std::int32_t of(const Bar& bar) const { return number_.at({is_idle(bar.kind) ? -1 : bar.track, bar.kind}); }
  std::vector<Category> take() { return std::move(categories_); }

 private:
  static bool has_bars(const Timeline& timeline, std::size_t track, std::size_t kind) {
    const auto is_such = [&](const Bar& bar) {
      return bar.track == static_cast<std::int32_t>(track) && static_cast<std::size_t>(bar.kind) == kind;
    };
    return std::any_of(timeline.lanes.begin(), timeline.lanes.end(),
                       [&](const Lane& lane) { return std::any_of(lane.bars.begin(), lane.bars.end(), is_such); });
  }

  void add_work(const std::string& track_name, std::size_t track, std::size_t kind, Color color) {
    const auto bar_kind = static_cast<BarKind>(kind);
    // A brace in a name would read as a field.
    std::string name = track_name;
    std::replace(name.begin(), name.end(), '{', '(');
    add({static_cast<std::int32_t>(track), bar_kind},
        {fmt::format("{} {}", track_name, name_of(bar_kind)), fmt::format("{}{{micro-batch}} {}", letter_of(bar_kind), name),
         "{micro-batch}", ink_of(color), false});
  }

  void add_idle(BarKind kind, std::size_t cause) {
    const std::string name(name_of(kind));
    add({-1, kind}, {name, name, "", idle_ink(cause), true});
  }

  void add(std::pair<std::int32_t, BarKind> key, Category category) {
    number_[key] = static_cast<std::int32_t>(categories_.size());
    categories_.push_back(std::move(category));
  }

  std::map<std::pair<std::int32_t, BarKind>, std::int32_t> number_;  // by (track, or -1 where idle; kind)
  std::vector<Category> categories_;
};

/// [lane] the number of its first bar.
std::vector<std::int32_t> first_bars(const Timeline& timeline) {
  std::vector<std::int32_t> first;
  std::int32_t bars = 0;
  for (const Lane& lane : timeline.lanes) {
    first.push_back(bars);
    bars += static_cast<std::int32_t>(lane.bars.size());
  }
  return first;
}

void add_bar(Chart& chart, const Bar& bar, std::int32_t category, const std::vector<std::int32_t>& first) {
  const bool idle = is_idle(bar.kind);
  ChartBar added{bar.start, bar.end, category};
  if (bar.awaits >= 0) added.awaits = first[static_cast<std::size_t>(bar.awaits_lane)] + bar.awaits;
  chart.bars.push_back(added);
  chart.fields[microbatch_field].values.push_back(idle ? -1 : bar.microbatch);
  chart.fields[stage_field].values.push_back(idle ? -1 : bar.stage);
}

Curve curve_of(const Lane& lane, std::size_t index) {
  Curve curve;
  curve.lane = index;
  for (const auto& [time, memory] : lane.memory.steps) curve.steps.emplace_back(time, amount_of(memory));
  return curve;
}

void add_capacities(Chart& chart, const pipeline::Problem& problem) {
  const std::vector<base::Memory> room = pipeline::room_of(problem, std::nullopt);
  for (Curve& curve : chart.curves) {
    if (room[curve.lane] != base::Memory::max()) curve.capacity = amount_of(room[curve.lane]);
  }
}

std::vector<Figure> figures_of(const pipeline::Problem& problem, const Timeline& timeline, const Summary& summary) {
  const auto time = [&](base::Ticks ticks) { return time_text(ticks, timeline.time_unit); };
  const base::Ticks bound = fuse::bounds_of(problem).makespan;
  const double gap = static_cast<double>((timeline.end - bound).count()) / static_cast<double>(std::max<std::int64_t>(bound.count(), 1));
  std::vector<Figure> figures;
  figures.push_back(
      {"makespan", time(timeline.end),
       timeline.end == bound ? "proven to be the shortest" : fmt::format("no schedule beats {}: gap {}", time(bound), percent(gap))});
  figures.push_back({"idle", percent(summary.idle_share), "of all devices' time"});
  if (summary.has_memory) {
    const std::string device = timeline.lanes[summary.fullest_lane].name;
    figures.push_back({"peak activation", base::format_memory(summary.peaks[summary.fullest_lane]),
                       fmt::format("on {} at {}", device, time(summary.peak_time))});
  }
  figures.push_back({"ops", fmt::format("{}", summary.ops),
                     fmt::format("{} on {}", counted(static_cast<std::int64_t>(timeline.tracks.size()), "pipeline"),
                                 counted(static_cast<std::int64_t>(timeline.lanes.size()), "device"))});
  return figures;
}

}  // namespace

Chart schedule_chart(const Timeline& timeline, std::string title) {
  Chart chart;
  chart.title = std::move(title);
  chart.lane_noun = timeline.lane_noun;
  chart.time_unit = timeline.time_unit;
  chart.end = timeline.end;
  chart.fields = {{"micro-batch"}, {"stage"}};
  Categories categories(timeline);
  const std::vector<std::int32_t> first = first_bars(timeline);
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    chart.lanes.push_back({timeline.lanes[lane].name, timeline.lanes[lane].bars.size()});
    for (const Bar& bar : timeline.lanes[lane].bars) add_bar(chart, bar, categories.of(bar), first);
    chart.curves.push_back(curve_of(timeline.lanes[lane], lane));
  }
  chart.categories = categories.take();
  const auto number = [&](std::int32_t lane, std::int32_t bar) { return first[static_cast<std::size_t>(lane)] + bar; };
  for (const timeline::Arrow& arrow : timeline.arrows) {
    chart.arrows.push_back({number(arrow.from_lane, arrow.from_bar), number(arrow.to_lane, arrow.to_bar)});
  }
  chart.curve_name = "activation held";
  if (!summarize(timeline).has_memory) chart.curves.clear();
  return chart;
}

Page schedule_page(const pipeline::Schedule& schedule, std::string title) {
  const Timeline timeline = timeline::schedule_timeline(schedule.problem, pipeline::evaluate(schedule), title);
  Chart chart = schedule_chart(timeline, "Timeline");
  chart.note = "Each row is a device. Work is as high as the row, idle time lower and coloured by its cause.";
  add_capacities(chart, schedule.problem);
  Page page;
  page.title = std::move(title);
  page.subtitle = "A schedule of pipelines on shared devices.";
  page.figures = figures_of(schedule.problem, timeline, summarize(timeline));
  page.sections.push_back(time_breakdown(chart));
  page.sections.push_back(idle_breakdown(chart));
  page.sections.push_back(longest_waits(chart));
  page.sections.insert(page.sections.begin(), std::move(chart));
  return page;
}

}  // namespace dovetail::report
