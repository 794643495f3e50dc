#include "report/schedule/chrome_trace.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "report/page/summary.h"
#include "report/words/text.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using base::TimeUnit;
using timeline::Bar;
using timeline::BarKind;
using timeline::Lane;
using timeline::Timeline;

class TraceWriter {
 public:
  explicit TraceWriter(const Timeline& timeline) : timeline_(timeline), unit_(timeline.time_unit) {
    for (const timeline::Track& track : timeline.tracks) {
      const std::string quoted = base::json_string(track.name);
      names_.push_back(quoted.substr(1, quoted.size() - 2));
    }
  }

  std::string write() {
    append("{{\"traceEvents\":[");
    for (std::size_t lane = 0; lane < timeline_.lanes.size(); ++lane) add_names(lane);
    for (std::size_t lane = 0; lane < timeline_.lanes.size(); ++lane) {
      for (const Bar& bar : timeline_.lanes[lane].bars) add_slice(lane, bar);
      add_counter(lane);
    }
    for (std::size_t arrow = 0; arrow < timeline_.arrows.size(); ++arrow) add_flow(arrow);
    append(
        "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{{\"generator\":\"dovetail\",\"title\":{},\"time_unit\":\"{}\",\"makespan\":\"{}\"}}}"
        "}\n",
        base::json_string(timeline_.title), base::name_of(unit_), base::format_time(timeline_.end, unit_));
    return fmt::to_string(text_);
  }

 private:
  template <class... Arguments>
  void append(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  /// Ids that no other process or thread has: viewers may mix up threads of one id, and take 0 for the idle process.
  static std::size_t process(std::size_t lane) { return lane + 1; }
  static std::size_t compute_thread(std::size_t lane) { return 2 * lane + 1; }
  static std::size_t idle_thread(std::size_t lane) { return 2 * lane + 2; }

  void begin_event() {
    append("{}\n", first_ ? "" : ",");
    first_ = false;
  }

  /// Exact decimal microseconds; a tick is one.
  std::string microseconds(Ticks time) const { return base::format_time(time, unit_ == TimeUnit::tick ? TimeUnit::tick : TimeUnit::us); }

  /// A moment within the bar, as late as can be said: an arrow binds to the slice that is running at its time.
  std::string just_before_end(const Bar& bar) const {
    return unit_ == TimeUnit::tick ? microseconds(bar.end - Ticks(1)) + ".999" : microseconds(bar.end - Ticks(1));
  }

  void add_metadata(std::string_view name, std::size_t process_id, std::size_t thread_id, std::string_view argument,
                    std::string_view value) {
    begin_event();
    append(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"{}":{}}}}})", name, process_id, thread_id, argument, value);
  }

  void add_names(std::size_t lane) {
    const std::size_t pid = process(lane);
    add_metadata("process_name", pid, compute_thread(lane), "name", base::json_string(timeline_.lanes[lane].name));
    add_metadata("process_sort_index", pid, compute_thread(lane), "sort_index", std::to_string(lane));
    add_metadata("thread_name", pid, compute_thread(lane), "name", "\"compute\"");
    add_metadata("thread_sort_index", pid, compute_thread(lane), "sort_index", "0");
    add_metadata("thread_name", pid, idle_thread(lane), "name", "\"idle\"");
    add_metadata("thread_sort_index", pid, idle_thread(lane), "sort_index", "1");
  }

  void add_slice(std::size_t lane, const Bar& bar) {
    begin_event();
    append(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":")", process(lane),
           is_idle(bar.kind) ? idle_thread(lane) : compute_thread(lane), microseconds(bar.start), microseconds(bar.end - bar.start),
           is_idle(bar.kind) ? "idle" : name_of(bar.kind));
    if (is_idle(bar.kind)) {
      add_idle(bar);
    } else {
      add_work(bar);
    }
    append(R"(,"start":{},"end":{}}}}})", base::format_time(bar.start, unit_), base::format_time(bar.end, unit_));
  }

  void add_work(const Bar& bar) {
    const auto track = static_cast<std::size_t>(bar.track);
    append(R"({0}{1} {2}","args":{{"pipeline":"{2}","model":{3},"replica":{4},"stage":{5},"microbatch":{1},"kind":"{0}")",
           letter_of(bar.kind), bar.microbatch, names_[track], timeline_.tracks[track].model, timeline_.tracks[track].replica, bar.stage);
  }

  void add_idle(const Bar& bar) {
    append(R"({0}","args":{{"cause":"{0}")", name_of(bar.kind));
    if (bar.awaits < 0) return;
    const Lane& lane = timeline_.lanes[static_cast<std::size_t>(bar.awaits_lane)];
    const Bar& awaited = lane.bars[static_cast<std::size_t>(bar.awaits)];
    append(R"(,"awaits":{},"awaits_on":{})", base::json_string(describe(timeline_, awaited)), base::json_string(lane.name));
  }

  void add_counter(std::size_t lane) {
    for (const auto& [time, value] : timeline_.lanes[lane].memory.steps) {
      begin_event();
      append(R"({{"ph":"C","pid":{},"tid":{},"ts":{},"name":"activation","args":{{"held":{}}}}})", process(lane), compute_thread(lane),
             microseconds(time), base::format_memory(value));
    }
  }

  const Bar& bar_at(std::int32_t lane, std::int32_t bar) const {
    return timeline_.lanes[static_cast<std::size_t>(lane)].bars[static_cast<std::size_t>(bar)];
  }

  void add_flow(std::size_t index) {
    const timeline::Arrow& arrow = timeline_.arrows[index];
    const Bar& from = bar_at(arrow.from_lane, arrow.from_bar);
    const Bar& to = bar_at(arrow.to_lane, arrow.to_bar);
    // A slice without length has no moment that an arrow could bind to.
    if (from.start == from.end || to.start == to.end) return;
    const auto from_lane = static_cast<std::size_t>(arrow.from_lane);
    const auto to_lane = static_cast<std::size_t>(arrow.to_lane);
    const std::string_view name = from.kind == BarKind::forward ? "activation" : "gradient";
    begin_event();
    append(R"({{"ph":"s","pid":{},"tid":{},"ts":{},"cat":"transfer","name":"{}","id":{}}})", process(from_lane), compute_thread(from_lane),
           just_before_end(from), name, index);
    begin_event();
    append(R"({{"ph":"f","bp":"e","pid":{},"tid":{},"ts":{},"cat":"transfer","name":"{}","id":{}}})", process(to_lane),
           compute_thread(to_lane), microseconds(to.start), name, index);
  }

  const Timeline& timeline_;
  TimeUnit unit_;
  std::vector<std::string> names_;  // [track], escaped, without quotes
  fmt::memory_buffer text_;
  bool first_ = true;
};

}  // namespace

std::string render_chrome_trace(const Timeline& timeline) { return TraceWriter(timeline).write(); }

}  // namespace dovetail::report
