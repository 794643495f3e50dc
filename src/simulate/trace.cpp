#include "simulate/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

namespace dovetail::simulate {

namespace {

using base::Ticks;

/// Sums of time by task and bar kind.
class Sums {
 public:
  void add(const Lane& lane, std::int64_t devices) {
    for (const Span& span : lane.spans) {
      times_[{span.task, span.bar_kind}] += (span.end - span.begin - span.launch) * devices;
      times_[{span.task, BarKind::launch}] += span.launch * devices;
    }
  }

  std::vector<Use> uses() const {
    std::vector<Use> uses;
    for (const auto& [what, time] : times_)
      if (time != Ticks(0)) uses.push_back({what.second, what.first, time});
    return uses;
  }

 private:
  std::map<std::pair<std::int32_t, BarKind>, Ticks> times_;
};

template <class Condition>
Ticks sum_of(const std::vector<Use>& uses, Condition condition) {
  Ticks sum;
  for (const Use& use : uses)
    if (condition(use.bar_kind)) sum += use.time;
  return sum;
}

std::optional<std::string> fault_of_spans(const Lane& lane, Ticks end) {
  Ticks now;
  for (const Span& span : lane.spans) {
    if (span.begin != now) return fmt::format("a span begins at {}, not at {}", span.begin.count(), now.count());
    if (span.end <= span.begin) return fmt::format("the span at {} does not end after its begin", now.count());
    if (span.launch < Ticks(0) || span.launch > span.end - span.begin)
      return fmt::format("the span at {} has a launch time of {}, not from 0 to its length", now.count(),
                         span.launch.count());
    now = span.end;
  }
  if (now != end) return fmt::format("spans end at {}, not at {}", now.count(), end.count());
  return std::nullopt;
}

std::optional<std::string> fault_of_memory(const Lane& lane, Ticks end) {
  Ticks last;
  for (const auto& [time, bytes] : lane.memory) {
    // Of several entries at one time, the last one counts.
    if (time < last) return fmt::format("memory at {} comes after that at {}", time.count(), last.count());
    if (bytes < 0) return fmt::format("memory at {} is negative: {}", time.count(), bytes);
    last = time;
  }
  if (last > end) return fmt::format("memory at {} is after the end at {}", last.count(), end.count());
  return std::nullopt;
}

}  // namespace

std::vector<Use> uses_of(const Trace& trace) {
  Sums sums;
  for (const Lane& lane : trace.lanes) sums.add(lane, static_cast<std::int64_t>(lane.devices.size()));
  return sums.uses();
}

std::vector<Use> uses_of(const Lane& lane) {
  Sums sums;
  sums.add(lane, 1);
  return sums.uses();
}

Ticks busy_time(const std::vector<Use>& uses) {
  return sum_of(uses, [](BarKind bar_kind) { return !is_idle(bar_kind); });
}

Ticks idle_time(const std::vector<Use>& uses) { return sum_of(uses, is_idle); }

Ticks time_of(const std::vector<Use>& uses, BarKind bar_kind) {
  return sum_of(uses, [bar_kind](BarKind other) { return other == bar_kind; });
}

void add_memory(std::vector<std::pair<Ticks, std::int64_t>>& memory, Ticks begin, Ticks end, std::int64_t bytes) {
  if (begin >= end || bytes == 0) return;
  // Of several entries at one time, the last one counts.
  const auto split = [&memory](Ticks time) {
    const auto after =
        std::find_if(memory.begin(), memory.end(), [time](const auto& activity) { return activity.first > time; });
    const std::int64_t held = after == memory.begin() ? 0 : std::prev(after)->second;
    if (after == memory.begin() || std::prev(after)->first < time) memory.insert(after, {time, held});
  };
  split(begin);
  split(end);
  for (auto& [time, held] : memory)
    if (time >= begin && time < end) held += bytes;
}

std::pair<Ticks, std::int64_t> peak_of(const Lane& lane) {
  std::pair<Ticks, std::int64_t> peak;
  for (const auto& activity : lane.memory)
    if (activity.second > peak.second) peak = activity;
  return peak;
}

std::optional<std::string> find_fault(const Trace& trace) {
  std::set<int> seen;
  for (std::size_t index = 0; index < trace.lanes.size(); ++index) {
    const Lane& lane = trace.lanes[index];
    if (lane.devices.empty()) return fmt::format("lane {} has no devices", index);
    for (const int device : lane.devices)
      if (!seen.insert(device).second) return fmt::format("device {} is in two lanes", device);
    if (auto fault = fault_of_spans(lane, trace.end)) return fmt::format("lane {}: {}", index, *fault);
    if (auto fault = fault_of_memory(lane, trace.end)) return fmt::format("lane {}: {}", index, *fault);
  }
  return std::nullopt;
}

}  // namespace dovetail::simulate
