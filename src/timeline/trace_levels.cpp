#include "timeline/trace_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>

namespace dovetail::timeline {
namespace {

using base::Ticks;

/// How many slices of B and E events lacked the other.
struct Unpaired {
  int without_end = 0;
  int without_beginning = 0;
};

/// The slices of a thread; B and E events in order of time are paired like brackets.
std::vector<Bar> slices_of(std::vector<TraceEvent> events, Ticks last, Unpaired& unpaired) {
  std::stable_sort(events.begin(), events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.bar.begin < b.bar.begin; });
  std::vector<Bar> slices;
  std::vector<std::size_t> open;
  for (const TraceEvent& event : events) {
    if (event.phase == 'E') {
      if (open.empty()) {
        ++unpaired.without_beginning;
        continue;
      }
      slices[open.back()].end = event.bar.begin;
      open.pop_back();
      continue;
    }
    if (event.phase == 'B') open.push_back(slices.size());
    slices.push_back(event.bar);
  }
  for (const std::size_t slice : open) slices[slice].end = last;
  unpaired.without_end += static_cast<int>(open.size());
  // A slice stands before those within it.
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Bar& a, const Bar& b) { return std::tuple(a.begin, b.end) < std::tuple(b.begin, a.end); });
  return slices;
}

/// Each slice goes to the uppermost level that is free when it begins.
std::vector<std::vector<Bar>> levels_of(const std::vector<Bar>& slices) {
  std::vector<std::vector<Bar>> levels;
  std::set<std::size_t> free;
  std::set<std::pair<Ticks, std::size_t>> running;  // by end
  for (const Bar& slice : slices) {
    for (; !running.empty() && running.begin()->first <= slice.begin; running.erase(running.begin()))
      free.insert(running.begin()->second);
    if (free.empty()) {
      free.insert(levels.size());
      levels.emplace_back();
    }
    const std::size_t level = *free.begin();
    free.erase(free.begin());
    levels[level].push_back(slice);
    running.emplace(slice.end, level);
  }
  return levels;
}

bool is_idle_thread(const TraceThread& thread) {
  return std::all_of(thread.events.begin(), thread.events.end(),
                     [](const TraceEvent& event) { return is_idle(event.bar.bar_kind); });
}

/// Of two threads, one of which is idle time only, makes one.
void join_idle_thread(TraceProcess& process) {
  if (process.threads.size() != 2) return;
  const bool first_idle = is_idle_thread(process.threads[0]);
  if (first_idle == is_idle_thread(process.threads[1])) return;
  TraceThread& kept = process.threads[first_idle ? 1 : 0];
  const TraceThread& joined = process.threads[first_idle ? 0 : 1];
  kept.events.insert(kept.events.end(), joined.events.begin(), joined.events.end());
  process.threads.erase(process.threads.begin() + (first_idle ? 0 : 1));
}

void add_counters(TraceProcess& process, std::size_t lane, Ticks origin, Timeline& trace) {
  for (auto& [name, series] : process.counters) {
    auto& values = series.values;
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Counter counter{name, series.unit, lane, {}};
    for (const auto& [time, value] : values) {
      if (!counter.steps.empty() && counter.steps.back().first == time - origin) counter.steps.pop_back();
      counter.steps.emplace_back(time - origin, value);
    }
    trace.counters.push_back(std::move(counter));
  }
}

void add_thread(const TraceProcess& process, const TraceThread& thread, Ticks origin, Ticks last, Unpaired& unpaired,
                Timeline& trace) {
  const std::string name =
      process.threads.size() == 1 ? process.name : fmt::format("{} · {}", process.name, thread.name);
  std::vector<Bar> slices = slices_of(thread.events, last, unpaired);
  for (Bar& slice : slices) {
    slice.begin -= origin;
    slice.end -= origin;
  }
  int level = 0;
  for (const std::vector<Bar>& of_level : levels_of(slices)) {
    add_lane(trace, level == 0 ? name : fmt::format("{} ▸ {}", name, level), of_level, level > 0);
    ++level;
  }
}

}  // namespace

void lay_out(std::vector<TraceProcess> processes, Ticks origin, Ticks last, Timeline& trace) {
  const auto by_sort_index = [](const auto& a, const auto& b) { return a.sort_index < b.sort_index; };
  std::stable_sort(processes.begin(), processes.end(), by_sort_index);
  Unpaired unpaired;
  for (TraceProcess& process : processes) {
    std::stable_sort(process.threads.begin(), process.threads.end(), by_sort_index);
    std::erase_if(process.threads, [](const TraceThread& thread) { return thread.events.empty(); });
    join_idle_thread(process);
    const std::size_t first_lane = trace.lanes.size();
    for (const TraceThread& thread : process.threads) add_thread(process, thread, origin, last, unpaired, trace);
    if (trace.lanes.size() == first_lane && !process.counters.empty()) add_lane(trace, process.name, {});
    add_counters(process, first_lane, origin, trace);
  }
  if (unpaired.without_end > 0)
    trace.notes.push_back(
        fmt::format("slices that begin and never end ({}) last as long as the trace", unpaired.without_end));
  if (unpaired.without_beginning > 0)
    trace.notes.push_back(fmt::format("ends of slices that never began ({}) are left out", unpaired.without_beginning));
}

}  // namespace dovetail::timeline
