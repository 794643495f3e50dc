#include "report/iteration_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "report/chart_sections.h"
#include "report/inks.h"
#include "report/text.h"

namespace dovetail::report {
namespace {

using simulate::Activity;
using simulate::Span;

/// Work of one activity for one task, or idle time of one cause: whose task is waited for is said by the bar.
using CategoryKey = std::pair<Activity, std::int32_t>;

CategoryKey key_of(const Span& span) { return {span.activity, simulate::is_idle(span.activity) ? -1 : span.task}; }

std::string task_name(const IterationPicture& picture, std::int32_t task) {
  return task < 0 ? std::string() : picture.tasks[static_cast<std::size_t>(task)];
}

/// What `amount` of a span counts.
bool counts_sequences(Activity activity) { return activity == Activity::decode || activity == Activity::score; }
bool counts_batches(Activity activity) {
  return activity == Activity::forward || activity == Activity::backward || activity == Activity::optimizer;
}

enum FieldIndex : std::size_t { task_field, sequences_field, batch_field, launch_field };

Category category_of(const IterationPicture& picture, const Span& span) {
  const bool idle = simulate::is_idle(span.activity);
  const std::string name(simulate::name_of(span.activity));
  const std::string task = idle ? "" : task_name(picture, span.task);
  Category category;
  category.name = task.empty() ? name : fmt::format("{} {}", task, name);
  category.bar_title = idle ? name : task.empty() ? name : name + " of {task}";
  category.bar_label = counts_batches(span.activity) ? "{batch}" : idle ? "" : category.name;
  category.ink =
      idle ? idle_ink(static_cast<std::size_t>(span.activity) - static_cast<std::size_t>(Activity::tail)) : ink_of(color_of(picture, span));
  category.idle = idle;
  return category;
}

/// Work first, then idle time, each in order of activities and tasks.
std::map<CategoryKey, std::int32_t> add_categories(const IterationPicture& picture, Chart& chart) {
  std::map<CategoryKey, Span> examples;
  for (const simulate::Lane& lane : picture.trace.lanes) {
    for (const Span& span : lane.spans) examples.try_emplace(key_of(span), span);
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
  chart.lane_noun = "row";
  chart.time_unit = base::TimeUnit::ns;
  chart.end = picture.trace.end;
  chart.fields = {{"task", Field::Kind::text, picture.tasks}, {"sequences"}, {"batch"}, {"waits for launches", Field::Kind::time}};
  chart.curve_name = "memory of the work";
  chart.curve_unit = "bytes";
  const std::map<CategoryKey, std::int32_t> numbers = add_categories(picture, chart);
  for (std::size_t index = 0; index < picture.trace.lanes.size(); ++index) {
    const simulate::Lane& lane = picture.trace.lanes[index];
    chart.lanes.push_back(
        {fmt::format("{} {}", lane.devices.size() == 1 ? "device" : "devices", device_ranges(lane.devices)), lane.spans.size()});
    for (const Span& span : lane.spans) add_bar(chart, span, numbers.at(key_of(span)));
    if (!lane.memory.empty()) chart.curves.push_back(curve_of(lane, index));
  }
  return chart;
}

Page iteration_page(const IterationPicture& picture) {
  Page page;
  page.title = picture.title;
  page.subtitle = "An iteration of RLHF training, played event by event.";
  page.figures.push_back({"iteration", fmt::format("{:.2f} s", static_cast<double>(picture.trace.end.count()) / 1e9), "in steady state"});
  Chart chart = iteration_chart(picture, "Timeline");
  page.sections.push_back(time_breakdown(chart));
  page.sections.push_back(idle_breakdown(chart));
  page.sections.insert(page.sections.begin(), std::move(chart));
  return page;
}

}  // namespace dovetail::report
