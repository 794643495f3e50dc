#include "timeline/chrome_trace_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/utf8.h"
#include "timeline/timeline.h"

namespace dovetail::timeline {
namespace {

/// An event of a thread: 'X' is a slice, 'B' its begin and 'E' its end, both at bar.begin.
struct TraceEvent {
  char phase = 'X';
  Bar bar;
};

struct TraceThread {
  std::string name;
  std::int64_t sort_index = 0;
  std::vector<TraceEvent> events;  ///< in file order
};

struct TraceProcess {
  std::string name;
  std::int64_t sort_index = 0;
  std::vector<TraceThread> threads;
  std::map<std::string, std::size_t> thread_number;
  struct Series {
    std::string unit;                                          ///< as in Counter
    std::vector<std::pair<base::Ticks, base::Memory>> values;  ///< in file order
  };
  std::map<std::string, Series> counters = {};  ///< by name
};

using base::Ticks;

/// Number of B and E events without a partner.
struct Unpaired {
  int without_end = 0;
  int without_beginning = 0;
};

/// Returns the slices of a thread. B and E events, in order of time, are paired like brackets.
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
  // A slice comes before those within it.
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Bar& a, const Bar& b) { return std::tuple(a.begin, b.end) < std::tuple(b.begin, a.end); });
  return slices;
}

/// Assigns each slice to the uppermost level that is free when it begins.
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

/// Joins two threads if one of them has only idle time.
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

/// Fills in lanes, bars, counters and notes of `trace`. Times are counted from `origin`; slices that are still open end
/// at `last`.
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
        fmt::format("slices that never end ({}) last until the end of the trace", unpaired.without_end));
  if (unpaired.without_beginning > 0)
    trace.notes.push_back(fmt::format("ends of slices that never began ({}) are omitted", unpaired.without_beginning));
}

using base::Node;
using base::Result;
using base::Status;

constexpr std::string_view bytes = "bytes";
constexpr std::size_t looked_through = 4096;
/// Latest time of a trace, in ns: the year 2096 if it counts from 1970.
constexpr std::int64_t max_moment = 4'000'000'000'000'000'000;
constexpr double millionths = 1e6;
constexpr double max_count = 9e18;

/// Returns the id of a process or thread in the trace: a number or a string.
std::string id_of(const Node& event, std::string_view key) {
  const auto node = event.find(key);
  return node && (node->is_number() || node->is_string()) ? std::string(node->text()) : "";
}

Result<std::string_view> text_at(const Node& event, std::string_view key) {
  const auto node = event.find(key);
  if (!node) return std::string_view();
  if (!node->is_string() && !node->is_number())
    return node->error(fmt::format("{} is {}; accepted: a string or a number", key, node->describe()));
  return node->text();
}

Result<Ticks> microseconds(const Node& event, std::string_view key) {
  DOVETAIL_TRY(const Node node, base::require(event, "an event", key, fmt::format("\"{}\": MICROSECONDS", key)));
  if (!node.is_number())
    return node.error(fmt::format("{} is {}; accepted: a number of microseconds", key, node.describe()));
  auto time = base::parse_time(node.text(), base::TimeUnit::us, base::ExcessDigits::round_half_up, max_moment);
  if (!time.ok()) return node.error(fmt::format("{} {}", key, time.error().message));
  return *time;
}

/// Reads the value of a counter: integer bytes, or millionths.
Result<base::Memory> amount_of(const Node& node, std::string_view what, std::string_view unit) {
  double value = 0;
  const std::string_view text = node.is_number() || node.is_string() ? node.text() : "";
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return node.error(
        fmt::format("value {} of the counter is {}; accepted: a number", base::quote(what), node.describe()));
  }
  const double count = value * (unit.empty() ? millionths : 1);
  return base::Memory(static_cast<std::int64_t>(std::llround(std::clamp(count, -max_count, max_count))));
}

/// Numbers strings in order of first appearance.
class Names {
 public:
  std::int32_t number(std::string_view name) {
    const auto [place, added] = number_.try_emplace(std::string(name), static_cast<std::int32_t>(names_.size()));
    if (added) names_.emplace_back(name);
    return place->second;
  }
  std::vector<std::string> take() && { return std::move(names_); }

 private:
  std::map<std::string, std::int32_t, std::less<>> number_;
  std::vector<std::string> names_;
};

class TraceReader {
 public:
  Status read(const Node& events) {
    for (std::size_t i = 0; i < events.size(); ++i) DOVETAIL_CHECK(read_event(events.item(i)));
    return {};
  }

  Timeline finish() && {
    Timeline trace;
    trace.time_unit = base::TimeUnit::us;
    if (!earliest_) return trace;
    trace.end = latest_ - *earliest_;
    trace.names = std::move(names_).take();
    trace.categories = std::move(categories_).take();
    lay_out(std::move(processes_), *earliest_, latest_, trace);
    return trace;
  }

 private:
  Status read_event(const Node& event) {
    if (!event.is_map()) return event.error(fmt::format("an event is {}; accepted: an object", event.describe()));
    DOVETAIL_TRY(const Node phase, base::require(event, "an event", "ph", "\"ph\": \"X\""));
    if (!phase.is_string())
      return phase.error(fmt::format("ph is {}; accepted: a string such as \"X\"", phase.describe()));
    if (phase.text() == "M") return read_metadata(event);
    if (phase.text() == "C") return read_counter(event);
    if (phase.text() == "X" || phase.text() == "B" || phase.text() == "E") return read_slice(event, phase.text()[0]);
    return {};
  }

  TraceProcess& process_of(const Node& event) {
    const auto [place, added] = process_number_.try_emplace(id_of(event, "pid"), processes_.size());
    if (added) processes_.push_back({fmt::format("process {}", place->first), 0, {}, {}});
    return processes_[place->second];
  }

  TraceThread& thread_of(const Node& event) {
    TraceProcess& process = process_of(event);
    const auto [place, added] = process.thread_number.try_emplace(id_of(event, "tid"), process.threads.size());
    if (added) process.threads.push_back({fmt::format("thread {}", place->first), 0, {}});
    return process.threads[place->second];
  }

  void see(Ticks moment) {
    earliest_ = std::min(earliest_.value_or(moment), moment);
    latest_ = std::max(latest_, moment);
  }

  Status read_slice(const Node& event, char phase) {
    DOVETAIL_TRY(const Ticks begin, microseconds(event, "ts"));
    Ticks end = begin;
    if (phase == 'X') {
      DOVETAIL_TRY(const Ticks duration, microseconds(event, "dur"));
      end += duration;
    }
    see(begin);
    see(end);
    DOVETAIL_TRY(const std::string_view name, text_at(event, "name"));
    DOVETAIL_TRY(const std::string_view category, text_at(event, "cat"));
    Bar bar{begin, end, category == idle_category ? BarKind::idle : BarKind::work};
    bar.name = names_.number(name);
    bar.category = categories_.number(category);
    thread_of(event).events.push_back({phase, bar});
    return {};
  }

  Status read_counter(const Node& event) {
    DOVETAIL_TRY(const Ticks time, microseconds(event, "ts"));
    DOVETAIL_TRY(const std::string_view name, text_at(event, "name"));
    DOVETAIL_TRY(const Node values, base::require(event, "a counter", "args", "\"args\": {\"used\": 1}"));
    if (!values.is_map())
      return values.error(fmt::format("args is {}; accepted: an object with numbers", values.describe()));
    see(time);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string unit = values.key(i) == bytes ? std::string(bytes) : "";
      DOVETAIL_TRY(const base::Memory value, amount_of(values.value(i), values.key(i), unit));
      const std::string series = values.size() == 1 ? std::string(name) : fmt::format("{} · {}", name, values.key(i));
      TraceProcess::Series& counter = process_of(event).counters[series];
      counter.unit = unit;
      counter.values.emplace_back(time, value);
    }
    return {};
  }

  Status read_metadata(const Node& event) {
    DOVETAIL_TRY(const std::string_view what, text_at(event, "name"));
    const auto arguments = event.find("args");
    if (!arguments || !arguments->is_map()) return {};
    if (what == "process_name" || what == "thread_name") {
      DOVETAIL_TRY(const std::string_view name, text_at(*arguments, "name"));
      if (!name.empty()) (what == "process_name" ? process_of(event).name : thread_of(event).name) = name;
      return {};
    }
    const auto index = arguments->find("sort_index");
    if ((what != "process_sort_index" && what != "thread_sort_index") || !index) return {};
    DOVETAIL_TRY(const std::int64_t place, base::read_integer(*index, "sort_index", -max_moment, max_moment));
    (what == "process_sort_index" ? process_of(event).sort_index : thread_of(event).sort_index) = place;
    return {};
  }

  std::vector<TraceProcess> processes_;
  std::map<std::string, std::size_t> process_number_;
  Names names_;
  Names categories_;
  std::optional<Ticks> earliest_;
  Ticks latest_;
};

Result<Node> events_of(const Node& root) {
  if (root.is_list()) return root;
  DOVETAIL_TRY(const Node events,
               base::require(root, "a Chrome trace", "traceEvents", "\"traceEvents\": [EVENT, ...]"));
  if (!events.is_list())
    return events.error(fmt::format("traceEvents is {}; accepted: a list of events", events.describe()));
  return events;
}

/// Reads the strings of "otherData", which Dovetail writes.
void read_other_data(const Node& root, Timeline& trace) {
  const auto about = root.is_map() ? root.find("otherData") : std::nullopt;
  const auto has_value = [&](std::string_view key, std::string_view value) {
    const auto node = about && about->is_map() ? about->find(key) : std::nullopt;
    return node && node->is_string() && (value.empty() || node->text() == value);
  };
  trace.beginning = Beginning::unknown;
  if (!has_value("generator", "dovetail")) return;
  if (has_value("makespan", "")) trace.beginning = Beginning::fixed;
  if (has_value("repeats", "true")) trace.beginning = Beginning::repeats;
  if (has_value("time_unit", base::name_of(base::TimeUnit::ns))) trace.time_unit = base::TimeUnit::ns;
}

}  // namespace

bool is_chrome_trace(std::string_view content) {
  constexpr std::string_view white_space = " \t\r\n";
  const std::string_view start = base::without_byte_order_mark(content).substr(0, looked_through);
  const std::size_t first = start.find_first_not_of(white_space);
  if (first == std::string_view::npos) return false;
  const std::size_t second = start.find_first_not_of(white_space, first + 1);
  if (start[first] == '[') return second != std::string_view::npos && start[second] == '{';
  return start[first] == '{' && start.find("\"traceEvents\"") != std::string_view::npos;
}

Result<Timeline> parse_chrome_trace(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
  DOVETAIL_TRY(const Node events, events_of(document.root()));
  TraceReader reader;
  DOVETAIL_CHECK(reader.read(events));
  Timeline trace = std::move(reader).finish();
  read_other_data(document.root(), trace);
  if (trace.bars.empty())
    return events.error("the trace has no slices; accepted: events with \"ph\": \"X\", or \"B\" and \"E\"");
  return trace;
}

}  // namespace dovetail::timeline
