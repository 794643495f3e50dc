#include "pipeline/formats/flexfusion_trace_cells.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/csv.h"
#include "base/file.h"
#include "base/quantity.h"
#include "base/utf8.h"

namespace dovetail::pipeline {
namespace {

using base::Error;
using base::Failure;
using base::FilePlace;
using base::Result;
using base::Status;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Reads the text of a trace line by line.
class TraceParser {
 public:
  TraceParser(std::string_view content, const std::string& path, std::optional<TimeUnit> unit)
      : content_(base::without_byte_order_mark(content)), path_(path), unit_(unit) {}

  Result<Trace> run() && {
    DOVETAIL_CHECK(base::check_input_size(base::InputKind::lines, content_.size(), path_));
    DOVETAIL_CHECK(base::check_characters(content_, path_));
    while (next_line() && !trimmed(line_).empty()) DOVETAIL_CHECK(read_device());
    if (trace_.devices.empty())
      return error_at(
          0,
          "the file does not begin with a device line; accepted: a line of [model, microbatch, stage, start, end, "
          "activation] cells for each device");
    while (next_line()) DOVETAIL_CHECK(read_summary_line());
    return std::move(trace_);
  }

 private:
  bool next_line() {
    if (begin_of_next_ >= content_.size()) {
      line_ = {};
      return false;
    }
    const std::size_t end = std::min(content_.find('\n', begin_of_next_), content_.size());
    line_ = content_.substr(begin_of_next_, end - begin_of_next_);
    begin_of_next_ = end + 1;
    ++line_number_;
    return true;
  }

  FilePlace place_of(std::size_t offset) const { return {std::max(line_number_, 1), static_cast<int>(offset) + 1}; }
  Error error_at(std::size_t offset, std::string message) const {
    const FilePlace place = place_of(offset);
    return {Failure::bad_input, path_, place.line, place.column, std::move(message)};
  }

  void skip(std::string_view characters) {
    const std::size_t next = line_.find_first_not_of(characters, next_);
    next_ = next == std::string_view::npos ? line_.size() : next;
  }
  bool at_end() const { return next_ == line_.size(); }

  Status read_device() {
    std::vector<TraceCell>& cells = trace_.devices.emplace_back();
    next_ = 0;
    skip(" \t\r");
    trace_.device_places.push_back(place_of(next_));
    while (!at_end()) {
      DOVETAIL_TRY(const TraceCell cell, read_cell());
      cells.push_back(cell);
      skip(" \t\r");
      if (at_end()) break;
      if (line_[next_] != ',')
        return error_at(next_, "unexpected text after a cell; accepted: a comma or the end of the line");
      ++next_;
      skip(" \t\r");
    }
    return {};
  }

  Result<TraceCell> read_cell() {
    TraceCell cell;
    cell.place = place_of(next_);
    if (line_[next_] != '[')
      return error_at(next_, "this is not a cell; accepted: [model, microbatch, stage, start, end, activation]");
    ++next_;
    DOVETAIL_TRY(cell.pipeline, read_index("model"));
    cell.pipeline_place = field_place_;
    DOVETAIL_TRY(cell.microbatch, read_index("microbatch"));
    cell.microbatch_place = field_place_;
    DOVETAIL_TRY(cell.stage, read_index("stage"));
    cell.stage_place = field_place_;
    DOVETAIL_TRY(cell.start, read_time("start"));
    DOVETAIL_TRY(cell.end, read_time("end"));
    if (cell.end < cell.start) return field_error("end is before start; accepted: start or later");
    DOVETAIL_TRY(cell.held, read_held());
    return cell;
  }

  /// Returns the text up to `closer`, which is skipped.
  Result<std::string_view> read_field(std::string_view name, char closer) {
    skip(" \t\r");
    field_place_ = place_of(next_);
    const std::size_t end = line_.find_first_of(",]", next_);
    if (end == std::string_view::npos || line_[end] != closer)
      return error_at(end == std::string_view::npos ? line_.size() : end,
                      fmt::format("missing '{}' after {}; a cell is [model, microbatch, stage, start, end, activation]",
                                  closer, name));
    const std::string_view field = trimmed(line_.substr(next_, end - next_));
    next_ = end + 1;
    return field;
  }

  Error field_error(std::string message) const {
    return {Failure::bad_input, path_, field_place_.line, field_place_.column, std::move(message)};
  }

  Result<int> read_index(std::string_view name) {
    DOVETAIL_TRY(const std::string_view field, read_field(name, ','));
    const std::optional<int> index = base::parse_index(field);
    if (base::is_too_large_index(field))
      return field_error(fmt::format("{} '{}' is too large; it must be at most 2147483647", name, field));
    if (!index) return field_error(fmt::format("{} is '{}'; it must be an integer of at least 0", name, field));
    return *index;
  }

  Result<Ticks> read_time(std::string_view name) {
    DOVETAIL_TRY(const std::string_view field, read_field(name, ','));
    return parse_time(name, field);
  }

  Result<Ticks> parse_time(std::string_view name, std::string_view field) const {
    auto time = base::parse_time(field, unit_.value_or(TimeUnit::tick), base::ExcessDigits::refuse, max_sum);
    if (time) return time;
    const auto decimal = base::scale_decimal(field, 0);
    const bool is_of_a_unit = !unit_ && decimal && !decimal->negative && !decimal->exact;
    return field_error(fmt::format("{} '{}' {}", name, field,
                                   is_of_a_unit
                                       ? "is not an integer number of ticks; times in another unit need --problem"
                                       : time.error().message));
  }

  Result<Memory> read_held() {
    DOVETAIL_TRY(std::string_view field, read_field("activation", ']'));
    return parse_held("activation", field);
  }

  /// Parses a printed activation. Rounded sums of floats may end just below zero.
  Result<Memory> parse_held(std::string_view name, std::string_view field) const {
    const bool negative = field.starts_with('-');
    auto held = base::parse_memory(field.substr(negative ? 1 : 0), max_sum);
    if (!held) return field_error(fmt::format("{} '{}' {}", name, field, held.error().message));
    return negative ? Memory(-held->count()) : *held;
  }

  Status read_summary_line() {
    const std::string_view text = trimmed(line_);
    if (text.empty()) return {};
    const std::size_t begin = line_.find(text.front());
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
      return error_at(begin, text.front() == '['
                                 ? "a device line after a blank line; all device lines must come first"
                                 : "this is not 'name: value'; only summary lines may follow the device lines");
    const std::string_view name = text.substr(0, colon);
    const std::string_view value = trimmed(text.substr(colon + 1));
    if (value.empty()) {
      in_dovetail_section_ = name == "Ours";
      return {};
    }
    field_place_ = place_of(begin + static_cast<std::size_t>(value.data() - text.data()));
    return read_summary_value(name, value, place_of(begin));
  }

  Status read_summary_value(std::string_view name, std::string_view value, FilePlace place) {
    if (name == "E2E time usage") {
      DOVETAIL_TRY(const Ticks time, parse_time(name, value));
      if (in_dovetail_section_) {
        trace_.claims.makespan = time;
        trace_.makespan_place = field_place_;
      }
    } else if (name == "Peak memory usage") {
      DOVETAIL_TRY(const Memory peak, parse_held(name, value));
      if (in_dovetail_section_) {
        trace_.claims.peak_activation = peak;
        trace_.peak_activation_place = field_place_;
      }
    } else if (name != "Utilization" && name != "Bubble rate" && name != "Time usage") {
      return Error{
          Failure::bad_input, path_, place.line, place.column,
          fmt::format(
              "'{}' is unknown; accepted: E2E time usage, Peak memory usage, Utilization, Bubble rate, Time usage",
              name)};
    }
    return {};
  }

  std::string_view content_;
  const std::string& path_;
  std::optional<TimeUnit> unit_;
  Trace trace_;
  std::size_t begin_of_next_ = 0;
  std::string_view line_;
  int line_number_ = 0;
  std::size_t next_ = 0;
  FilePlace field_place_;
  bool in_dovetail_section_ = false;
};

}  // namespace

std::vector<std::size_t> rows_by_start(const std::vector<TraceCell>& cells) {
  std::vector<std::size_t> rows(cells.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::sort(rows.begin(), rows.end(), [&cells](std::size_t a, std::size_t b) {
    return std::pair(cells[a].start, a) < std::pair(cells[b].start, b);
  });
  return rows;
}

Result<Trace> parse_trace_cells(std::string_view content, const std::string& path, std::optional<TimeUnit> unit) {
  return TraceParser(content, path, unit).run();
}

}  // namespace dovetail::pipeline
