#include "timeline/chrome_trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "base/document.h"
#include "base/utf8.h"
#include "timeline/trace_levels.h"

namespace dovetail::timeline {
namespace {

using base::Node;
using base::Result;
using base::Status;
using base::Ticks;

constexpr std::string_view bytes = "bytes";
constexpr std::size_t looked_through = 4096;
/// Traces may count from 1970: this is the year 2096, in ns.
constexpr std::int64_t max_moment = 4'000'000'000'000'000'000;
constexpr double millionths = 1e6;
constexpr double max_count = 9e18;

/// A process or thread as the trace names it: a number or a text.
std::string id_of(const Node& event, std::string_view key) {
  const auto node = event.find(key);
  return node && (node->is_number() || node->is_string()) ? std::string(node->text()) : "";
}

Result<std::string_view> text_at(const Node& event, std::string_view key) {
  const auto node = event.find(key);
  if (!node) return std::string_view();
  if (!node->is_string() && !node->is_number())
    return node->error(fmt::format("{} is {}; accepted: a text", key, node->describe()));
  return node->text();
}

Result<Ticks> microseconds(const Node& event, std::string_view key) {
  DOVETAIL_TRY(const Node node, base::require(event, "an event", key, fmt::format("\"{}\": MICROSECONDS", key)));
  if (!node.is_number())
    return node.error(fmt::format("{} is {}; accepted: a number of microseconds", key, node.describe()));
  auto time = base::parse_time(node.text(), base::TimeUnit::us, base::FineDigits::round_half_up, max_moment);
  if (!time.ok()) return node.error(fmt::format("{} {}", key, time.error().message));
  return *time;
}

/// A counter's value: whole bytes, or millionths.
Result<base::Memory> amount_of(const Node& node, std::string_view what, std::string_view unit) {
  double value = 0;
  const std::string_view text = node.is_number() || node.is_string() ? node.text() : "";
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return node.error(
        fmt::format("the counter's value of {} is {}; accepted: a number", base::quote(what), node.describe()));
  }
  const double count = value * (unit.empty() ? millionths : 1);
  return base::Memory(static_cast<std::int64_t>(std::llround(std::clamp(count, -max_count, max_count))));
}

/// Texts by the order in which they come.
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
      return phase.error(fmt::format("ph is {}; accepted: a text such as \"X\"", phase.describe()));
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
    DOVETAIL_TRY(const std::int64_t place, base::read_whole(*index, "sort_index", -max_moment, max_moment));
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

/// What the trace says of itself, if Dovetail wrote it: texts of "otherData".
void read_about(const Node& root, Timeline& trace) {
  const auto about = root.is_map() ? root.find("otherData") : std::nullopt;
  const auto says = [&](std::string_view key, std::string_view value) {
    const auto node = about && about->is_map() ? about->find(key) : std::nullopt;
    return node && node->is_string() && (value.empty() || node->text() == value);
  };
  trace.beginning = Beginning::unknown;
  if (!says("generator", "dovetail")) return;
  if (says("makespan", "")) trace.beginning = Beginning::fixed;
  if (says("repeats", "true")) trace.beginning = Beginning::repeats;
  if (says("time_unit", base::name_of(base::TimeUnit::ns))) trace.time_unit = base::TimeUnit::ns;
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
  read_about(document.root(), trace);
  if (trace.bars.empty())
    return events.error("the trace has no slices; accepted: events with \"ph\": \"X\", or \"B\" and \"E\"");
  return trace;
}

}  // namespace dovetail::timeline
