#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "base/utf8.h"
#include "report/iteration/iteration_picture.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using simulate::Lane;
using simulate::Span;

class IterationTraceWriter {
 public:
  explicit IterationTraceWriter(const IterationPicture& picture) : picture_(picture) {}

  std::string write() {
    append("{{\"traceEvents\":[");
    const std::vector<PictureRow> rows = rows_of(picture_);
    for (std::size_t row = 0; row < rows.size(); ++row) add_row(row, rows[row]);
    append("\n],\"displayTimeUnit\":\"ms\",\"otherData\":{{\"generator\":\"dovetail\",\"title\":{},\"time_unit\":\"ns\",\"end\":\"{}\",",
           base::json_string(picture_.title), picture_.trace.end.count());
    append("\"repeats\":\"{}\"}}}}\n", picture_.repeats);
    return fmt::to_string(text_);
  }

 private:
  template <class... Arguments>
  void append(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  void begin_event() {
    append("{}\n", first_ ? "" : ",");
    first_ = false;
  }

  // Ids that no other process or thread has: viewers may mix up threads of one id, and take 0 for the idle process.
  static std::size_t process(std::size_t lane) { return lane + 1; }
  static std::size_t work_thread(std::size_t lane) { return 2 * lane + 1; }
  static std::size_t idle_thread(std::size_t lane) { return 2 * lane + 2; }

  static std::string microseconds(Ticks time) { return base::format_time(time, base::TimeUnit::us); }

  void name(std::string_view what, std::size_t lane, std::size_t thread, const std::string& value) {
    begin_event();
    append(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process(lane), thread, base::json_string(value));
  }

  void add_row(std::size_t index, const PictureRow& row) {
    const Lane& lane = row.lane;
    name("process_name", index, work_thread(index), row.name);
    begin_event();
    append(R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process(index), work_thread(index),
           index);
    name("thread_name", index, work_thread(index), "work");
    name("thread_name", index, idle_thread(index), "idle");
    for (const Span& span : lane.spans) add_span(index, span);
    for (const auto& [time, bytes] : lane.memory) {
      begin_event();
      append(R"({{"ph":"C","pid":{},"tid":{},"ts":{},"name":"memory in use","args":{{"bytes":{}}}}})", process(index), work_thread(index),
             microseconds(time), bytes);
    }
  }

  void add_span(std::size_t lane, const Span& span) {
    const bool idle = simulate::is_idle(span.activity);
    begin_event();
    append(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":{},"args":{{"amount":{},"launch_us":{}}}}})", process(lane),
           idle ? idle_thread(lane) : work_thread(lane), microseconds(span.begin), microseconds(span.end - span.begin),
           idle ? "idle" : simulate::name_of(span.activity), base::json_string(describe(picture_, span)), span.amount,
           microseconds(span.launch));
  }

  const IterationPicture& picture_;
  fmt::memory_buffer text_;
  bool first_ = true;
};

}  // namespace

std::string render_iteration_trace(const IterationPicture& picture) { return IterationTraceWriter(picture).write(); }

}  // namespace dovetail::report
