#include "records/run_timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dovetail::records {
namespace {

using base::Ticks;

constexpr std::string_view suffix = "_seconds";

Ticks ticks_of(double seconds) {
  return std::isfinite(seconds) && seconds > 0 ? base::ticks_of_seconds(seconds) : Ticks{};
}

/// Bars of one lane, each behind the one before.
class LaneWriter {
 public:
  void add(std::string_view name, Ticks length) {
    if (length == Ticks{}) return;
    const auto known = std::find(timeline_.names.begin(), timeline_.names.end(), name);
    timeline::Bar bar;
    bar.begin = timeline_.end;
    bar.end = bar.begin + length;
    bar.name = static_cast<std::int32_t>(known - timeline_.names.begin());
    if (known == timeline_.names.end()) timeline_.names.emplace_back(name);
    timeline_.end = bar.end;
    bars_.push_back(bar);
  }

  timeline::Timeline finish() {
    timeline_.time_unit = base::TimeUnit::s;
    timeline_.lane_noun = "rank";
    timeline_.beginning = timeline::Beginning::unknown;
    add_lane(timeline_, "rank 0", bars_);
    return std::move(timeline_);
  }

 private:
  timeline::Timeline timeline_;
  std::vector<timeline::Bar> bars_;
};

struct IterationTimes {
  std::vector<std::pair<std::string_view, Ticks>> tasks;  ///< in the order of the row
  Ticks whole;
  Ticks evaluation;  ///< behind it
};

std::map<std::int64_t, IterationTimes> times_of(const FigureTable& metrics, const FigureTable& evaluations) {
  std::map<std::int64_t, IterationTimes> times;
  for (const FigureColumn& column : metrics.columns()) {
    if (!column.is_timing) continue;
    const std::string_view name = column.name;
    for (const FigurePoint& point : column.points) {
      if (name == "seconds") times[point.iteration].whole = ticks_of(point.value);
      if (name.ends_with(suffix))
        times[point.iteration].tasks.emplace_back(name.substr(0, name.size() - suffix.size()), ticks_of(point.value));
    }
  }
  if (const FigureColumn* const column = evaluations.find("evaluate_seconds"))
    for (const FigurePoint& point : column->points) times[point.iteration].evaluation = ticks_of(point.value);
  return times;
}

}  // namespace

timeline::Timeline run_timeline(const FigureTable& metrics, const FigureTable& evaluations) {
  LaneWriter lane;
  for (const auto& [iteration, times] : times_of(metrics, evaluations)) {
    Ticks of_tasks;
    for (const auto& [task, length] : times.tasks) {
      lane.add(task, length);
      of_tasks += length;
    }
    lane.add("other", std::max(times.whole, of_tasks) - of_tasks);
    lane.add("evaluation", times.evaluation);
  }
  return lane.finish();
}

}  // namespace dovetail::records
