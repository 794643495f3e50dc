#include "simulate/threshold.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "parallel/for_each_index.h"

namespace dovetail::simulate {

using base::Ticks;

namespace {

/// Returns the mean, rounded down, or a quantile.
Ticks value_of(std::vector<Ticks> ends, std::optional<double> quantile) {
  const auto count = static_cast<std::int64_t>(ends.size());
  if (!quantile) {
    Ticks sum;
    for (const Ticks end : ends) sum += end;
    return Ticks(sum.count() / count);
  }
  std::sort(ends.begin(), ends.end());
  const auto rank = static_cast<std::int64_t>(std::ceil(*quantile * static_cast<double>(count) - 1e-9));
  return ends[static_cast<std::size_t>(std::clamp<std::int64_t>(rank, 1, count) - 1)];
}

}  // namespace

std::vector<double> default_thresholds() {
  std::vector<double> thresholds{0.01, 0.02, 0.03};
  for (int percent = 5; percent < 100; percent += 5) thresholds.push_back(percent / 100.0);
  return thresholds;
}

std::optional<ThresholdChoice> choose_threshold(const InterStageTask& task,
                                                const std::vector<std::vector<Sample>>& draws,
                                                const ThresholdOptions& options) {
  DOVETAIL_ASSERT(!draws.empty());
  ThresholdChoice choice;
  choice.points.emplace_back();
  for (const double threshold : options.thresholds) choice.points.push_back({threshold, {}, {}, 0});
  std::vector<std::vector<std::pair<Ticks, bool>>> ends(
      draws.size());                              // [draw][point] end, and whether anything migrated
  std::vector<Ticks> side_by_side(draws.size());  // [draw]
  parallel::for_each_index(static_cast<int>(draws.size()), options.threads, [&](int index) {
    const auto draw = static_cast<std::size_t>(index);
    Stages stages(task, draws[draw]);
    side_by_side[draw] = stages.side_by_side();
    for (const ThresholdPoint& point : choice.points) {
      if (parallel::is_requested(options.cancellation)) return;
      std::optional<StageTimes> fused;
      if (point.threshold) fused = stages.with_threshold(*point.threshold);
      ends[draw].emplace_back(fused ? fused->end : stages.plain().end, fused.has_value());
    }
  });
  if (parallel::is_requested(options.cancellation)) return std::nullopt;
  choice.side_by_side = value_of(std::move(side_by_side), options.quantile);
  for (std::size_t index = 0; index < choice.points.size(); ++index) {
    ThresholdPoint& point = choice.points[index];
    for (const std::vector<std::pair<Ticks, bool>>& draw : ends) {
      point.ends.push_back(draw[index].first);
      point.migrated += draw[index].second ? 1U : 0U;
    }
    point.value = value_of(point.ends, options.quantile);
    if (point.value < choice.points[choice.best].value) choice.best = index;
  }
  return choice;
}

}  // namespace dovetail::simulate
