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
std::vector<TraceSlice> slices_of(std::vector<TraceEvent> events, Ticks last, Unpaired& unpaired) {
  std::stable_sort(events.begin(), events.end(), [](const TraceEvent& a, const TraceEvent& b) { return a.slice.begin < b.slice.begin; });
  std::vector<TraceSlice> slices;
  std::vector<std::size_t> open;
  for (const TraceEvent& event : events) {
    if (event.phase == 'E') {
      if (open.empty()) {
        ++unpaired.without_beginning;
        continue;
      }
      slices[open.back()].end = event.slice.begin;
      open.pop_back();
      continue;
    }
    if (event.phase == 'B') open.push_back(slices.size());
    slices.push_back(event.slice);
  }
  for (const std::size_t slice : open) slices[slice].end = last;
  unpaired.without_end += static_cast<int>(open.size());
  // A slice stands before those within it.
  std::stable_sort(slices.begin(), slices.end(),
                   [](const TraceSlice& a, const TraceSlice& b) { return std::tuple(a.begin, b.end) < std::tuple(b.begin, a.end); });
  return slices;
}

/// Each slice goes to the uppermost level that is free when it begins.
std::vector<std::vector<TraceSlice>> levels_of(const std::vector<TraceSlice>& slices) {
  std::vector<std::vector<TraceSlice>> levels;
  std::set<std::size_t> free;
  std::set<std::pair<Ticks, std::size_t>> running;  // by end
  for (const TraceSlice& slice : slices) {
    for (; !running.empty() && running.begin()->first <= slice.begin; running.erase(running.begin())) free.insert(running.begin()->second);
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

bool is_idle_thread(const TraceThread& thread, const std::vector<std::string>& categories) {
  return std::all_of(thread.events.begin(), thread.events.end(),
                     [&](const TraceEvent& event) { return categories[static_cast<std::size_t>(event.slice.category)] == idle_category; });
}

/// Of two threads, one of which is idle time only, makes one.
void join_idle_thread(TraceProcess& process, const std::vector<std::string>& categories) {
  if (process.threads.size() != 2) return;
  const bool first_idle = is_idle_thread(process.threads[0], categories);
  if (first_idle == is_idle_thread(process.threads[1], categories)) return;
  TraceThread& kept = process.threads[first_idle ? 1 : 0];
  const TraceThread& joined = process.threads[first_idle ? 0 : 1];
  kept.events.insert(kept.events.end(), joined.events.begin(), joined.events.end());
  process.threads.erase(process.threads.begin() + (first_idle ? 0 : 1));
}

void add_counters(TraceProcess& process, std::size_t lane, Ticks origin, ChromeTrace& trace) {
  for (auto& [name, series] : process.counters) {
    auto& values = series.values;
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    TraceCounter counter{name, series.key, lane, {}};
    for (const auto& [time, value] : values) {
      if (!counter.values.empty() && counter.values.back().first == time - origin) counter.values.pop_back();
      counter.values.emplace_back(time - origin, value);
    }
    trace.counters.push_back(std::move(counter));
  }
}

void add_thread(const TraceProcess& process, const TraceThread& thread, Ticks origin, Ticks last, Unpaired& unpaired, ChromeTrace& trace) {
  const std::string name = process.threads.size() == 1 ? process.name : fmt::format("{} · {}", process.name, thread.name);
  std::vector<TraceSlice> slices = slices_of(thread.events, last, unpaired);
  for (TraceSlice& slice : slices) slice = {slice.begin - origin, slice.end - origin, slice.name, slice.category};
  int level = 0;
  for (std::vector<TraceSlice>& of_level : levels_of(slices)) trace.lanes.push_back({name, level++, std::move(of_level)});
}

}  // namespace

void lay_out(std::vector<TraceProcess> processes, Ticks origin, Ticks last, ChromeTrace& trace) {
  const auto by_sort_index = [](const auto& a, const auto& b) { return a.sort_index < b.sort_index; };
  std::stable_sort(processes.begin(), processes.end(), by_sort_index);
  Unpaired unpaired;
  for (TraceProcess& process : processes) {
    std::stable_sort(process.threads.begin(), process.threads.end(), by_sort_index);
    std::erase_if(process.threads, [](const TraceThread& thread) { return thread.events.empty(); });
    join_idle_thread(process, trace.categories);
    const std::size_t first_lane = trace.lanes.size();
    for (const TraceThread& thread : process.threads) add_thread(process, thread, origin, last, unpaired, trace);
    if (trace.lanes.size() == first_lane && !process.counters.empty()) trace.lanes.push_back({process.name, 0, {}});
    add_counters(process, first_lane, origin, trace);
  }
  if (unpaired.without_end > 0)
    trace.notes.push_back(fmt::format("slices that begin and never end ({}) last as long as the trace", unpaired.without_end));
  if (unpaired.without_beginning > 0)
    trace.notes.push_back(fmt::format("ends of slices that never began ({}) are left out", unpaired.without_beginning));
}

}  // namespace dovetail::timeline
