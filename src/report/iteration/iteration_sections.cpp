#include "report/iteration/iteration_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/iteration/thinned.h"
#include "report/page/inks.h"
#include "report/words/amounts.h"
#include "report/words/text.h"
#include "simulate/accounting.h"

namespace dovetail::report {
namespace {

using simulate::Activity;
using simulate::Span;
using simulate::Use;

/// Work of one activity for one task, or idle time of one cause: whose task is waited for is said by the bar. In order: the work of each
/// task, work of no task, idle time.
using CategoryKey = std::tuple<bool, std::uint32_t, Activity>;

CategoryKey key_of(Activity activity, std::int32_t task) {
  // Of no task comes last.
  const bool idle = simulate::is_idle(activity);
  return {idle, idle ? 0 : static_cast<std::uint32_t>(task), activity};
}

std::string task_name(const IterationPicture& picture, std::int32_t task) {
  return task < 0 ? std::string() : picture.tasks[static_cast<std::size_t>(task)];
}

/// What `amount` of a span counts.
bool counts_sequences(Activity activity) { return activity == Activity::decode || activity == Activity::score; }
bool counts_batches(Activity activity) {
  return activity == Activity::forward || activity == Activity::backward || activity == Activity::optimizer;
}

/// A page with more would take seconds to open and tens of megabytes.
constexpr std::size_t most_bars = 250'000;

enum FieldIndex : std::size_t { task_field, sequences_field, batch_field, launch_field };

/// "actor_generate decode", "bubble".
std::string category_name(const IterationPicture& picture, Activity activity, std::int32_t task) {
  const std::string name(simulate::name_of(activity));
  const std::string of = simulate::is_idle(activity) ? "" : task_name(picture, task);
  return of.empty() ? name : fmt::format("{} {}", of, name);
}

Category category_of(const IterationPicture& picture, const Span& span) {
  const bool idle = simulate::is_idle(span.activity);
  const std::string task = idle ? "" : task_name(picture, span.task);
  Category category;
  category.name = category_name(picture, span.activity, span.task);
  category.bar_title = describe(span.activity, task.empty() ? "" : "{task}");
  category.bar_label = counts_batches(span.activity) ? "{batch}" : idle ? "" : category.name;
  category.ink = ink_of(picture, span.activity, span.task);
  category.idle = idle;
  return category;
}

std::map<CategoryKey, std::int32_t> add_categories(const IterationPicture& picture, Chart& chart) {
  std::map<CategoryKey, Span> examples;
  for (const PictureRow& row : rows_of(picture)) {
    for (const Span& span : row.lane.spans) examples.try_emplace(key_of(span.activity, span.task), span);
  }
  std::map<CategoryKey, std::int32_t> numbers;
  for (const auto& [key, span] : examples) {
    numbers[key] = static_cast<std::int32_t>(chart.categories.size());
    chart.categories.push_back(category_of(picture, span));
  }
  return numbers;
}

void add_bar(Chart& chart, const Span& span, std::int32_t category) {
  chart.bars.push_back({span.begin, span.end, category});
  chart.fields[task_field].values.push_back(span.task);
  chart.fields[sequences_field].values.push_back(counts_sequences(span.activity) ? span.amount : -1);
  chart.fields[batch_field].values.push_back(counts_batches(span.activity) ? span.amount : -1);
  chart.fields[launch_field].values.push_back(span.launch > base::Ticks() ? span.launch.count() : -1);
}

std::int64_t device_count(const simulate::Trace& trace) {
  std::int64_t devices = 0;
  for (const simulate::Lane& lane : trace.lanes) devices += static_cast<std::int64_t>(lane.devices.size());
  return devices;
}

/// The parts of a breakdown: a number for each use that there is.
std::map<CategoryKey, std::size_t> add_parts(Breakdown& breakdown, const IterationPicture& picture, const std::vector<Use>& uses) {
  std::map<CategoryKey, const Use*> examples;
  for (const Use& use : uses) examples.try_emplace(key_of(use.activity, use.task), &use);
  std::map<CategoryKey, std::size_t> numbers;
  for (const auto& [key, use] : examples) {
    numbers[key] = breakdown.parts.size();
    breakdown.parts.push_back(
        {category_name(picture, use->activity, use->task), ink_of(picture, use->activity, use->task), simulate::is_idle(use->activity)});
  }
  return numbers;
}

/// Parts and rows of the uses that are `counted`: all devices together, then one of each lane.
template <class Counted>
void add_uses(Breakdown& breakdown, const IterationPicture& picture, Counted counted) {
  std::vector<Use> all = simulate::uses_of(picture.trace);
  std::erase_if(all, [&](const Use& use) { return !counted(use); });
  const std::map<CategoryKey, std::size_t> numbers = add_parts(breakdown, picture, all);
  const auto add_row = [&](std::string name, const std::vector<Use>& uses) {
    Breakdown::Row row{std::move(name), std::vector<base::Ticks>(numbers.size())};
    for (const Use& use : uses)
      if (counted(use)) row.amounts[numbers.at(key_of(use.activity, use.task))] += use.time;
    breakdown.rows.push_back(std::move(row));
  };
  add_row(fmt::format("all {}", report::counted(device_count(picture.trace), "device")), all);
  for (const simulate::Lane& lane : picture.trace.lanes) add_row(device_row_name(lane.devices), simulate::uses_of(lane));
}

Curve curve_of(const simulate::Lane& lane, std::size_t index) {
  Curve curve;
  curve.lane = index;
  for (const auto& [time, bytes] : lane.memory) curve.steps.emplace_back(time, static_cast<double>(bytes));
  return curve;
}

}  // namespace

Chart iteration_chart(const IterationPicture& picture, std::string title) {
  Chart chart;
  chart.title = std::move(title);
  chart.note = "Each row stands for devices that do the same. Work is as high as the row, idle time lower and coloured by its cause.";
  if (!picture.trace.host_links.empty()) chart.note += " The last rows are what goes over links to host memory meanwhile.";
  chart.lane_noun = "row";
  chart.time_unit = base::TimeUnit::ns;
  chart.end = picture.trace.end;
  chart.fields = {{"task", Field::Kind::text, picture.tasks}, {"sequences"}, {"batch"}, {"waits for launches", Field::Kind::time}};
  chart.curve_name = "memory in use";
  chart.curve_unit = "bytes";
  const std::map<CategoryKey, std::int32_t> numbers = add_categories(picture, chart);
  const std::vector<PictureRow> rows = rows_of(picture);
  const ThinnedLanes thin = thinned(rows, chart.end, most_bars);
  if (thin.shortest > base::Ticks())
    chart.note += fmt::format(" Of neighbouring bars shorter than {} one is drawn, as what most of their time is.",
                              seconds_text(base::seconds_of_ticks(thin.shortest)));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const simulate::Lane& lane = thin.lanes[row];
    if (!lane.memory.empty()) chart.curves.push_back(curve_of(lane, chart.lanes.size()));
    chart.lanes.push_back({rows[row].name, lane.spans.size()});
    for (const Span& span : lane.spans) add_bar(chart, span, numbers.at(key_of(span.activity, span.task)));
  }
  return chart;
}

Breakdown use_breakdown(const IterationPicture& picture) {
  Breakdown breakdown;
  breakdown.title = "Where the time goes";
  breakdown.note = "Time of all devices together, then of one device of each row, by what they do.";
  breakdown.time_unit = base::TimeUnit::ns;
  add_uses(breakdown, picture, [](const Use&) { return true; });
  return breakdown;
}

Breakdown idle_use_breakdown(const IterationPicture& picture) {
  Breakdown breakdown;
  breakdown.title = "Idle time by cause";
  breakdown.note = "As a share of all of the time: of all devices together, then of one device of each row, the idlest first.";
  breakdown.time_unit = base::TimeUnit::ns;
  add_uses(breakdown, picture, [](const Use& use) { return simulate::is_idle(use.activity); });
  for (Breakdown::Row& row : breakdown.rows) row.whole = picture.trace.end;
  breakdown.rows.front().whole = picture.trace.end * device_count(picture.trace);
  const auto idle = [](const Breakdown::Row& row) { return std::accumulate(row.amounts.begin(), row.amounts.end(), base::Ticks()); };
  std::stable_sort(breakdown.rows.begin() + 1, breakdown.rows.end(),
                   [&](const Breakdown::Row& a, const Breakdown::Row& b) { return idle(a) > idle(b); });
  return breakdown;
}

}  // namespace dovetail::report
