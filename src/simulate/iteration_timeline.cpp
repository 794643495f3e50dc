#include "simulate/iteration_timeline.h"

#include <cstddef>
#include <utility>

#include "timeline/lane_names.h"

namespace dovetail::simulate {
namespace {

using timeline::Bar;
using timeline::Timeline;

/// What `amount` of a span counts.
bool counts_sequences(BarKind bar_kind) { return bar_kind == BarKind::decode || bar_kind == BarKind::infer; }
bool counts_batches(BarKind bar_kind) {
  return bar_kind == BarKind::forward || bar_kind == BarKind::backward || bar_kind == BarKind::optimizer;
}

Bar bar_of(const Span& span) {
  Bar bar{span.begin, span.end, span.bar_kind, span.task};
  if (counts_sequences(span.bar_kind)) bar.sequences = span.amount;
  if (counts_batches(span.bar_kind)) bar.microbatch = static_cast<std::int32_t>(span.amount);
  bar.launch = span.launch;
  return bar;
}

void add_lane(Timeline& timeline, std::string name, const Lane& lane) {
  if (!lane.memory.empty()) {
    timeline::Counter counter{"memory in use", "bytes", timeline.lanes.size(), {}};
    for (const auto& [time, bytes] : lane.memory) counter.steps.emplace_back(time, base::Memory(bytes));
    timeline.counters.push_back(std::move(counter));
  }
  std::vector<Bar> bars;
  for (const Span& span : lane.spans) bars.push_back(bar_of(span));
  timeline::add_lane(timeline, std::move(name), bars);
}

}  // namespace

Timeline iteration_timeline(const Trace& trace, std::vector<timeline::Track> tasks, std::string title, bool repeats) {
  Timeline timeline;
  timeline.title = std::move(title);
  timeline.lane_noun = "row";
  timeline.time_unit = base::TimeUnit::ns;
  timeline.end = trace.end;
  timeline.beginning = repeats ? timeline::Beginning::repeats : timeline::Beginning::unknown;
  timeline.tracks = std::move(tasks);
  for (const Lane& lane : trace.lanes) add_lane(timeline, timeline::device_lane_name(lane.devices), lane);
  for (const Lane& lane : trace.host_links) add_lane(timeline, timeline::host_link_lane_name(lane.devices), lane);
  return timeline;
}

}  // namespace dovetail::simulate
