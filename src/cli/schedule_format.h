// Schedules written to files, in any format.
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

/// What --format accepts for writing ("json|trace|...").
inline constexpr const char* written_formats = "json|trace|chrome|svg|csv|csv-comms|programs";

/// The format to write `path` in: `name` where it is given, else by the path's extension (.chrome.json or .trace.json,
/// .json, .svg, .csv, .txt or .trace), or programs where it is a folder or ends with a slash. An Error names what is
/// accepted; also where the folder of `path` does not exist, so that a long search is not lost to a slip of the
/// fingers.
base::Result<ScheduleFormat> format_to_write(const std::string& path, const std::optional<std::string>& name);

/// The schedule in that format, called `title` in pictures; an Error for what is several files: CSV of several
/// pipelines, programs. REQUIRES: no validate(schedule).
base::Result<std::string> schedule_content(const pipeline::Schedule& schedule, const std::string& title,
                                           ScheduleFormat format);

/// Writes the schedule, and gives the paths written: one, a CSV for each pipeline, or a program for each rank in the
/// folder `path`, which is made where it is missing.
/// REQUIRES: no validate(schedule).
base::Result<std::vector<std::string>> write_schedule(const pipeline::Schedule& schedule, const std::string& title,
                                                      ScheduleFormat format, const std::string& path);

}  // namespace dovetail::cli
