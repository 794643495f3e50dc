// Writes schedules to files in any supported format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/schedules/input_files.h"
#include "base/result.h"
#include "cli/output_file.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::cli {

using answer::ScheduleFormat;

/// Values of --format for writing.
inline constexpr const char* written_formats = "json|trace|chrome|svg|csv|csv-comms|programs";

/// Returns the format in which to write `path`. This is the format called `name`, if `name` is given. Otherwise the
/// extension of `path` determines it (.chrome.json, .trace.json, .json, .svg, .csv, .txt or .trace). A folder, or a
/// path that ends with a slash, means programs. Standard output means JSON. Returns an Error if the format is unknown
/// or `path` cannot be written. Call this before a long search.
base::Result<ScheduleFormat> format_to_write(const std::string& path, const std::optional<std::string>& name);

/// Returns the schedule in that format. `title` is the title of pictures and Chrome traces. Returns an Error if the
/// format cannot express the schedule, or if the result needs several files: programs, or CSV of several pipelines.
/// REQUIRES: the schedule is valid.
base::Result<std::string> schedule_content(const pipeline::Schedule& schedule, const std::string& title,
                                           ScheduleFormat format);

/// Writes the schedule and returns the paths written: one file, one CSV per pipeline, or one program per rank in the
/// folder `path`, which is created if missing. Returns an Error if the format cannot express the schedule, if a file
/// cannot be written, or if several files are needed and `path` is standard output. REQUIRES: the schedule is valid.
base::Result<std::vector<std::string>> write_schedule(const pipeline::Schedule& schedule, const std::string& title,
                                                      ScheduleFormat format, const std::string& path);

}  // namespace dovetail::cli
