#include "cli/schedule_format.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "answer/words/figures.h"
#include "base/document.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "pipeline/formats/flexfusion_trace.h"
#include "pipeline/formats/pytorch_csv.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem_file.h"
#include "pipeline/schedule/evaluate.h"
#include "report/schedule/svg.h"
#include "timeline/chrome_trace_file.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::cli {
namespace {

using pipeline::CsvActions;
using Paths = std::vector<std::string>;

constexpr std::array formats{ScheduleFormat::json, ScheduleFormat::trace, ScheduleFormat::chrome,
                             ScheduleFormat::svg,  ScheduleFormat::csv,   ScheduleFormat::csv_comms};

constexpr std::string_view white_space = " \t\r\n";
/// How much of a file is looked at to tell what it is: all formats say so at their start.
constexpr std::size_t looked_through = 4096;

/// Longer extensions first: ".chrome.json" is no ".json".
constexpr std::array<std::pair<std::string_view, ScheduleFormat>, 7> extensions{{{".chrome.json", ScheduleFormat::chrome},
                                                                                 {".trace.json", ScheduleFormat::chrome},
                                                                                 {".json", ScheduleFormat::json},
                                                                                 {".svg", ScheduleFormat::svg},
                                                                                 {".csv", ScheduleFormat::csv},
                                                                                 {".txt", ScheduleFormat::trace},
                                                                                 {".trace", ScheduleFormat::trace}}};

std::optional<ScheduleFormat> format_named(std::string_view name) {
  for (const ScheduleFormat format : formats) {
    if (name == name_of(format)) return format;
  }
  return std::nullopt;
}

/// `among` are the names that would be accepted.
base::Error unknown_format(std::string_view name, const std::vector<std::string_view>& among) {
  return base::bad_input(fmt::format("'{}' is no format of schedules{}", name, answer::hint_and_list(name, "accepted:", among)));
}

timeline::Timeline timeline_of(const pipeline::Schedule& schedule, const std::string& title) {
  return timeline::schedule_timeline(schedule.problem, pipeline::evaluate(schedule), title);
}

base::Result<Paths> one_path(base::Result<std::string> path) {
  if (!path.ok()) return std::move(path).error();
  return Paths{std::move(*path)};
}

/// "out/plan.csv" with "-actor-r0" is "out/plan-actor-r0.csv".
std::string with_suffix(const std::string& path, const std::string& suffix) {
  std::filesystem::path changed(path);
  changed.replace_filename(changed.stem().string() + suffix + changed.extension().string());
  return changed.string();
}

base::Result<Paths> write_csv(const pipeline::Schedule& schedule, CsvActions actions, const std::string& path) {
  DOVETAIL_TRY(const std::vector<pipeline::CsvFile> files, pipeline::schedule_to_pytorch_csv(schedule, actions));
  std::error_code ignored;
  const bool has_name = !is_standard_output(path) && !std::filesystem::is_other(path, ignored);
  if (!has_name && files.size() != 1) {
    return base::bad_input(
        fmt::format("CSV holds one pipeline a file, and this schedule has {}; write it to a file, not to '{}'", files.size(), path));
  }
  std::vector<OutputFile> outputs;
  for (const pipeline::CsvFile& file : files) outputs.push_back({has_name ? with_suffix(path, file.suffix) : path, file.content});
  return write_outputs(outputs);
}

}  // namespace

std::string_view name_of(ScheduleFormat format) {
  switch (format) {
    case ScheduleFormat::json:
      return "json";
    case ScheduleFormat::trace:
      return "trace";
    case ScheduleFormat::chrome:
      return "chrome";
    case ScheduleFormat::svg:
      return "svg";
    case ScheduleFormat::csv:
      return "csv";
    case ScheduleFormat::csv_comms:
      return "csv-comms";
  }
  DOVETAIL_ASSERT(false);
}

base::Result<ScheduleFormat> format_to_read(std::string_view name) {
  const auto format = format_named(name);
  if (!format) return unknown_format(name, {"json", "trace", "csv"});
  if (*format == ScheduleFormat::chrome || *format == ScheduleFormat::svg) {
    return base::bad_input(fmt::format("{} can only be written; accepted for reading: json, trace, csv", name));
  }
  // Both kinds of CSV are read alike.
  return *format == ScheduleFormat::csv_comms ? ScheduleFormat::csv : *format;
}

base::Result<ScheduleFormat> format_to_write(const std::string& path, const std::optional<std::string>& name) {
  const bool to_standard_output = is_standard_output(path);
  DOVETAIL_CHECK(check_output_path(path));
  if (name) {
    const auto format = format_named(*name);
    if (format) return *format;
    std::vector<std::string_view> names;
    for (const ScheduleFormat accepted : formats) names.push_back(name_of(accepted));
    return unknown_format(*name, names);
  }
  if (to_standard_output) return ScheduleFormat::json;
  for (const auto& [extension, format] : extensions) {
    if (path.size() > extension.size() && path.ends_with(extension)) return format;
  }
  return base::bad_input(
      fmt::format("the extension of '{}' does not tell the format: use .json, .chrome.json, .svg, .csv or .txt, or name it ({})", path,
                  written_formats));
}

bool is_standard_output(const std::string& path) { return path == "-" || path == "/dev/stdout"; }

base::Status check_output_path(const std::string& path) {
  if (is_standard_output(path)) return {};
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return base::check_writable(path);
  return base::Error{base::Failure::io, path, 0, 0, fmt::format("the folder '{}' does not exist", folder.string())};
}

base::Status check_no_input(const std::optional<std::string>& path, const std::vector<std::optional<std::string>>& to_be_read) {
  if (!path || is_standard_output(*path)) return {};
  std::optional<std::string> input = base::read_as(*path);
  for (const std::optional<std::string>& other : to_be_read) {
    std::error_code ignored;
    if (other && std::filesystem::equivalent(*path, *other, ignored)) input = other;
  }
  if (!input) return {};
  return base::bad_input(fmt::format("the output '{}' is the input '{}', which would be lost; accepted: another file", *path, *input));
}

base::Status check_output_options(const std::optional<std::string>& path, const std::optional<std::string>& format, bool json) {
  if (json && path && is_standard_output(*path))
    return base::bad_input("--json and -o - both want standard output; name a file to write to");
  if (format && !path) return base::bad_input("--format is the format of -o FILE, which is missing");
  return {};
}

base::Result<std::string> write_output(const std::string& path, std::string_view content) {
  DOVETAIL_CHECK(check_no_input(path));
  const bool to_standard_output = is_standard_output(path);
  DOVETAIL_CHECK(base::write_file(to_standard_output ? "-" : path, content));
  return to_standard_output ? "<stdout>" : path;
}

base::Result<Paths> write_outputs(const std::vector<OutputFile>& files) {
  if (files.size() == 1) return one_path(write_output(files.front().path, files.front().content));
  std::vector<base::FileContent> contents;
  Paths paths;
  for (const OutputFile& file : files) {
    DOVETAIL_CHECK(check_no_input(file.path));
    contents.push_back({file.path, file.content});
    paths.push_back(file.path);
  }
  DOVETAIL_CHECK(base::write_files(contents));
  return paths;
}

void print_beside(const std::optional<std::string>& path, std::string_view text) {
  if (path && is_standard_output(*path)) {
    print_error(text);
  } else {
    print(text);
  }
}

std::optional<std::string> describe_other_content(std::string_view content, const std::string& path) {
  const std::string_view start = base::without_byte_order_mark(content).substr(0, looked_through);
  const std::size_t first = start.find_first_not_of(white_space);
  if (first == std::string_view::npos) return std::nullopt;
  if (start.find("\"dovetail/pareto@1\"") != std::string_view::npos) {
    return "this is a front with several schedules; write one with: dovetail schedule PROBLEM --objective pareto --pick N -o FILE";
  }
  if (start.find(pipeline::problem_format) < start.find(pipeline::schedule_format)) {
    return fmt::format("this is a problem, not a schedule; make one with: dovetail schedule {}", path);
  }
  if (timeline::is_chrome_trace(content)) {
    return fmt::format("this is a Chrome trace, not a schedule; accepted for reading: json, trace, csv; dovetail report {} shows it", path);
  }
  if (start[first] == '<' && start.find("<svg") != std::string_view::npos) {
    return "this is an SVG picture, which can only be written; accepted for reading: json, trace, csv";
  }
  return std::nullopt;
}

std::string named_format(std::string_view content) {
  constexpr std::string_view key = "format";
  constexpr std::string_view own = "dovetail/";
  // Small files are read as a whole: comments and other keys may come first.
  constexpr std::size_t small = 1 << 20;
  if (content.size() <= small) {
    const auto document = base::parse_yaml_or_json(content, "");
    const auto named = document.ok() && document->root().is_map() ? document->root().find(key) : std::nullopt;
    if (named && named->is_string() && named->text().starts_with(own)) return std::string(named->text().substr(0, named->text().find('@')));
    if (named) return {};
  }
  const std::string_view start = content.substr(0, looked_through);
  for (std::size_t at = start.find(key); at != std::string_view::npos; at = start.find(key, at + 1)) {
    const std::size_t value = start.find_first_not_of(" \t'\":", at + key.size());
    if (value == std::string_view::npos || start.substr(value, own.size()) != own) continue;
    return std::string(start.substr(value, start.find_first_of("@'\", \t\r\n}", value) - value));
  }
  return {};
}

bool is_own_schedule(std::string_view content) {
  const std::string_view start = content.substr(0, looked_through);
  return start.find(pipeline::schedule_format) < start.find(pipeline::problem_format);
}

std::optional<ScheduleFormat> format_of_content(std::string_view content) {
  const std::string_view text = base::without_byte_order_mark(content);
  const std::size_t first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos) return std::nullopt;
  const char letter = text[first];
  if (letter == '{') return ScheduleFormat::json;
  if (letter == '[') return ScheduleFormat::trace;
  const bool starts_csv = (letter >= '0' && letter <= '9') || letter == ',' || letter == '(' || letter == '"';
  return starts_csv ? std::optional(ScheduleFormat::csv) : std::nullopt;
}

base::Result<Paths> write_schedule(const pipeline::Schedule& schedule, const std::string& title, ScheduleFormat format,
                                   const std::string& path) {
  switch (format) {
    case ScheduleFormat::json:
      return one_path(write_output(path, pipeline::schedule_to_json(schedule)));
    case ScheduleFormat::trace: {
      DOVETAIL_TRY(const std::string trace, pipeline::schedule_to_trace(schedule));
      return one_path(write_output(path, trace));
    }
    case ScheduleFormat::chrome:
      return one_path(write_output(path, timeline::render_chrome_trace(timeline_of(schedule, title))));
    case ScheduleFormat::svg:
      return one_path(write_output(path, report::render_svg(timeline_of(schedule, title))));
    case ScheduleFormat::csv:
      return write_csv(schedule, CsvActions::compute_only, path);
    case ScheduleFormat::csv_comms:
      return write_csv(schedule, CsvActions::compute_comms, path);
  }
  DOVETAIL_ASSERT(false);
}

}  // namespace dovetail::cli
