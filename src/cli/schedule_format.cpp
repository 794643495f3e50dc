#include "cli/schedule_format.h"

#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <utility>

#include "answer/schedules/programs.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/evaluate.h"
#include "report/schedule/gantt.h"
#include "timeline/chrome_trace_file.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::cli {
namespace {

/// Longer extensions come first: ".chrome.json" also ends with ".json".
constexpr std::array<std::pair<std::string_view, ScheduleFormat>, 7> extensions{
    {{".chrome.json", ScheduleFormat::chrome},
     {".trace.json", ScheduleFormat::chrome},
     {".json", ScheduleFormat::json},
     {".svg", ScheduleFormat::svg},
     {".csv", ScheduleFormat::csv},
     {".txt", ScheduleFormat::trace},
     {".trace", ScheduleFormat::trace}}};

timeline::Timeline timeline_of(const pipeline::Schedule& schedule, const std::string& title) {
  return timeline::schedule_timeline(schedule.problem, pipeline::evaluate(schedule), title);
}

/// Inserts a suffix before the extension: "out/plan.csv" and "-actor-r0" give "out/plan-actor-r0.csv".
std::string with_suffix(const std::string& path, const std::string& suffix) {
  std::filesystem::path changed(path);
  changed.replace_filename(changed.stem().string() + suffix + changed.extension().string());
  return changed.string();
}

std::optional<pipeline::CsvActions> csv_actions_of(ScheduleFormat format) {
  if (format == ScheduleFormat::csv) return pipeline::CsvActions::compute_only;
  if (format == ScheduleFormat::csv_comms) return pipeline::CsvActions::compute_comms;
  return std::nullopt;
}

/// CSV of a schedule with a single pipeline, for a destination that cannot hold several files.
base::Result<std::string> csv_content(const pipeline::Schedule& schedule, pipeline::CsvActions actions,
                                      const std::string& path) {
  DOVETAIL_TRY(const std::vector<pipeline::CsvFile> files, pipeline::schedule_to_pytorch_csv(schedule, actions));
  if (files.size() == 1) return files.front().content;
  return base::bad_input(fmt::format(
      "CSV needs one file per pipeline, and this schedule has {} pipelines; write it to a file instead of '{}'",
      files.size(), path));
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// Checks that `path` can be written in `format`. Programs need a folder that exists or can be created.
base::Status check_place(std::string path, ScheduleFormat format) {
  if (format == ScheduleFormat::programs) {
    if (is_folder(path)) return {};
    if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  }
  return check_output_path(path);
}

/// The format named by `name`, otherwise by the path.
base::Result<ScheduleFormat> format_of(const std::string& path, const std::optional<std::string>& name) {
  if (name) {
    if (const auto format = base::enum_named<ScheduleFormat>(*name)) return *format;
    return answer::unknown_format(*name, base::enum_names<ScheduleFormat>());
  }
  if (is_standard_output(path)) return ScheduleFormat::json;
  if (path.ends_with('/') || is_folder(path)) return ScheduleFormat::programs;
  for (const auto& [extension, format] : extensions) {
    if (path.size() > extension.size() && path.ends_with(extension)) return format;
  }
  return base::bad_input(
      fmt::format("cannot tell the format of '{}'; use .json, .chrome.json, .svg, .csv or .txt, a folder with a "
                  "trailing slash for programs, or give the format with --format (convert: --to): {}",
                  path, written_formats));
}

/// Checks the programs and writes one file per rank.
base::Result<std::vector<std::string>> write_programs(const pipeline::Schedule& schedule, const std::string& folder) {
  DOVETAIL_TRY(const std::vector<pipeline::Program> programs, answer::programs_of(schedule));
  std::error_code failed;
  std::filesystem::create_directory(folder, failed);
  if (!is_folder(folder)) return base::Error{base::Failure::io, folder, 0, 0, "cannot create this folder"};
  std::vector<OutputFile> outputs;
  for (const pipeline::Program& program : programs)
    outputs.push_back({std::filesystem::path(folder) / pipeline::program_file_name(program.rank),
                       pipeline::program_to_json(program)});
  return write_outputs(outputs);
}

}  // namespace

base::Result<ScheduleFormat> format_to_write(const std::string& path, const std::optional<std::string>& name) {
  DOVETAIL_TRY(const ScheduleFormat format, format_of(path, name));
  DOVETAIL_CHECK(check_place(path, format));
  return format;
}

base::Result<std::string> schedule_content(const pipeline::Schedule& schedule, const std::string& title,
                                           ScheduleFormat format) {
  switch (format) {
    case ScheduleFormat::json:
      return pipeline::schedule_to_json(schedule);
    case ScheduleFormat::trace:
      return pipeline::schedule_to_trace(schedule);
    case ScheduleFormat::chrome:
      return timeline::render_chrome_trace(timeline_of(schedule, title));
    case ScheduleFormat::svg:
      return report::render_svg(timeline_of(schedule, title));
    case ScheduleFormat::csv:
    case ScheduleFormat::csv_comms:
      return csv_content(schedule, *csv_actions_of(format), "-");
    case ScheduleFormat::programs:
      return base::bad_input("programs need one file per rank; write them to a folder instead of '-'");
  }
  DOVETAIL_ASSERT(false);
}

base::Result<std::vector<std::string>> write_schedule(const pipeline::Schedule& schedule, const std::string& title,
                                                      ScheduleFormat format, const std::string& path) {
  if (format == ScheduleFormat::programs && !is_standard_output(path)) return write_programs(schedule, path);
  const auto actions = csv_actions_of(format);
  std::error_code ignored;
  const bool has_name = !is_standard_output(path) && !std::filesystem::is_other(path, ignored);
  if (!actions || !has_name) {
    DOVETAIL_TRY(const std::string content,
                 actions ? csv_content(schedule, *actions, path) : schedule_content(schedule, title, format));
    return write_outputs({{path, content}});
  }
  DOVETAIL_TRY(const std::vector<pipeline::CsvFile> files, pipeline::schedule_to_pytorch_csv(schedule, *actions));
  std::vector<OutputFile> outputs;
  for (const pipeline::CsvFile& file : files) outputs.push_back({with_suffix(path, file.suffix), file.content});
  return write_outputs(outputs);
}

}  // namespace dovetail::cli
