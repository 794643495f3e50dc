#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::timeline {
namespace {

using base::json_string;
using base::Ticks;
using base::TimeUnit;

class TraceWriter {
 public:
  explicit TraceWriter(const Timeline& timeline) : timeline_(timeline), unit_(timeline.time_unit) {
    for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane)
      lane_of_.insert(lane_of_.end(), timeline.lanes[lane].bars, lane);
  }

  std::string write() {
    append("{{\"traceEvents\":[");
    for (std::size_t lane = 0; lane < timeline_.lanes.size(); ++lane) add_names(lane);
    const std::vector<const Counter*> counters = drawn_counters(timeline_);
    for (std::size_t lane = 0; lane < timeline_.lanes.size(); ++lane) {
      for (const Bar& bar : bars_of(timeline_, lane)) add_slice(lane, bar);
      if (counters[lane]) add_counter(lane, *counters[lane]);
    }
    for (std::size_t arrow = 0; arrow < timeline_.arrows.size(); ++arrow) add_flow(arrow);
    append(
        "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{{\"generator\":\"dovetail\",\"title\":{},\"time_unit\":\"{}\",",
        json_string(timeline_.title), base::name_of(unit_));
    if (timeline_.beginning == Beginning::fixed) {
      append("\"makespan\":\"{}\"}}}}\n", base::format_time(timeline_.end, unit_));
    } else {
      append("\"end\":\"{}\",\"repeats\":\"{}\"}}}}\n", base::format_time(timeline_.end, unit_),
             timeline_.beginning == Beginning::repeats);
    }
    return fmt::to_string(text_);
  }

 private:
  template <class... Arguments>
  void append(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  /// Ids are unique across processes and threads: viewers may confuse equal ids, and treat 0 as the idle process.
  static std::size_t process(std::size_t lane) { return lane + 1; }
  static std::size_t work_thread(std::size_t lane) { return 2 * lane + 1; }
  static std::size_t idle_thread(std::size_t lane) { return 2 * lane + 2; }

  void begin_event() {
    append("{}\n", first_ ? "" : ",");
    first_ = false;
  }

  /// Formats exact decimal microseconds; a tick is one.
  std::string microseconds(Ticks time) const {
    return base::format_time(time, unit_ == TimeUnit::tick ? TimeUnit::tick : TimeUnit::us);
  }

  /// Returns the latest representable time within the bar: an arrow binds to the slice that is running at its time.
  std::string just_before_end(const Bar& bar) const {
    return unit_ == TimeUnit::tick ? microseconds(bar.end - Ticks(1)) + ".999" : microseconds(bar.end - Ticks(1));
  }

  void add_metadata(std::string_view name, std::size_t process_id, std::size_t thread_id, std::string_view argument,
                    std::string_view value) {
    begin_event();
    append(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"{}":{}}}}})", name, process_id, thread_id, argument,
           value);
  }

  void add_names(std::size_t lane) {
    const std::size_t pid = process(lane);
    add_metadata("process_name", pid, work_thread(lane), "name", json_string(timeline_.lanes[lane].name));
    add_metadata("process_sort_index", pid, work_thread(lane), "sort_index", std::to_string(lane));
    add_metadata("thread_name", pid, work_thread(lane), "name", "\"work\"");
    add_metadata("thread_sort_index", pid, work_thread(lane), "sort_index", "0");
    add_metadata("thread_name", pid, idle_thread(lane), "name", "\"idle\"");
    add_metadata("thread_sort_index", pid, idle_thread(lane), "sort_index", "1");
  }

  void add_slice(std::size_t lane, const Bar& bar) {
    const bool idle = is_idle(bar.bar_kind);
    begin_event();
    append(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":{},"args":{{)", process(lane),
           idle ? idle_thread(lane) : work_thread(lane), microseconds(bar.begin), microseconds(bar.end - bar.begin),
           idle ? idle_category : name_of(bar.bar_kind), json_string(full_title(timeline_, bar)));
    if (idle) {
      add_cause(bar);
    } else {
      add_work(bar);
    }
    append(R"("start":{},"end":{}}}}})", base::format_time(bar.begin, unit_), base::format_time(bar.end, unit_));
  }

  /// Adds the known properties of the work, each followed by a comma.
  void add_work(const Bar& bar) {
    if (bar.track >= 0) {
      const Track& track = timeline_.tracks[static_cast<std::size_t>(bar.track)];
      const bool is_pipeline = track.kind == Track::Kind::pipeline;
      append(R"("{}":{},"model":{},)", is_pipeline ? "pipeline" : "task", json_string(track.name), track.model);
      if (is_pipeline) append(R"("replica":{},)", track.replica);
    }
    if (bar.stage >= 0) append(R"("stage":{},)", bar.stage);
    if (bar.microbatch >= 0) append(R"("microbatch":{},)", bar.microbatch);
    if (bar.stage >= 0) append(R"("kind":"{}",)", letter_of(bar.bar_kind));
    if (bar.sequences >= 0) append(R"("sequences":{},)", bar.sequences);
    if (bar.launch > Ticks()) append(R"("launch":{},)", base::format_time(bar.launch, unit_));
  }

  void add_cause(const Bar& bar) {
    append(R"("cause":"{}",)", name_of(bar.bar_kind));
    if (bar.awaits < 0) return;
    const auto awaited = static_cast<std::size_t>(bar.awaits);
    append(R"("awaits":{},"awaits_on":{},)", json_string(describe(timeline_, timeline_.bars[awaited])),
           json_string(timeline_.lanes[lane_of_[awaited]].name));
  }

  void add_counter(std::size_t lane, const Counter& counter) {
    const std::string_view key = counter.unit.empty() ? "held" : std::string_view(counter.unit);
    for (const auto& [time, value] : counter.steps) {
      begin_event();
      append(R"({{"ph":"C","pid":{},"tid":{},"ts":{},"name":{},"args":{{"{}":{}}}}})", process(lane), work_thread(lane),
             microseconds(time), json_string(counter.name), key,
             counter.unit.empty() ? base::format_memory(value) : std::to_string(value.count()));
    }
  }

  void add_flow(std::size_t index) {
    const auto from = static_cast<std::size_t>(timeline_.arrows[index].from);
    const auto to = static_cast<std::size_t>(timeline_.arrows[index].to);
    const Bar& sender = timeline_.bars[from];
    const Bar& receiver = timeline_.bars[to];
    // A slice of length 0 has no time that an arrow could bind to.
    if (sender.begin == sender.end || receiver.begin == receiver.end) return;
    const std::string_view name = sender.bar_kind == BarKind::forward ? "activation" : "gradient";
    begin_event();
    append(R"({{"ph":"s","pid":{},"tid":{},"ts":{},"cat":"transfer","name":"{}","id":{}}})", process(lane_of_[from]),
           work_thread(lane_of_[from]), just_before_end(sender), name, index);
    begin_event();
    append(R"({{"ph":"f","bp":"e","pid":{},"tid":{},"ts":{},"cat":"transfer","name":"{}","id":{}}})",
           process(lane_of_[to]), work_thread(lane_of_[to]), microseconds(receiver.begin), name, index);
  }

  const Timeline& timeline_;
  TimeUnit unit_;
  std::vector<std::size_t> lane_of_;  // [bar]
  fmt::memory_buffer text_;
  bool first_ = true;
};

}  // namespace

std::string render_chrome_trace(const Timeline& timeline) { return TraceWriter(timeline).write(); }

}  // namespace dovetail::timeline
