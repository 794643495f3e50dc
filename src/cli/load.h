// Reading what a command is given: a problem, or a schedule in any of its formats.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/schedule_format.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::cli {

/// A problem, and what to call it: the instance's name or the file's path.
struct NamedProblem {
  std::string name;
  pipeline::Problem problem;
};

/// Reads the problem that `argument` names: "-" for standard input, an existing file, or a bundled instance, in this order. A name
/// that is none of them is an Error that names the nearest instances.
base::Result<NamedProblem> load_problem(const std::string& argument);

/// Whether `argument` is the name of a bundled instance and of no file.
bool is_instance(const std::string& argument);

/// What the file of a schedule holds: read once, because a pipe gives it only once.
struct ScheduleText {
  std::string argument;  ///< as the user calls it
  std::string content;
  std::optional<ScheduleFormat> format;  ///< the one that was asked for, else told from the content; nothing where that looks like none
};

/// Reads the file at `path`, '-' for standard input; its format is `forced`, else told from its content.
base::Result<ScheduleText> read_schedule_text(const std::string& path, std::optional<ScheduleFormat> forced);

/// A schedule as it was read; `format` says how.
struct LoadedSchedule {
  std::string path;
  ScheduleFormat format = ScheduleFormat::json;
  pipeline::ScheduleFile file;
};

/// Reads the schedule that `text` holds. With `problem` it becomes a schedule of that problem. The file's notes go to stderr.
base::Result<LoadedSchedule> load_schedule(const ScheduleText& text, const pipeline::Problem* problem);

/// Reads a schedule that has to be one of `named`'s problem, and validates it, but for the capacity: a schedule to start from or to
/// compare may need more. One of another problem is an Error that says what differs.
base::Result<LoadedSchedule> load_schedule_of(const NamedProblem& named, const ScheduleText& text);

/// The first rule that the schedule breaks, as an Error (Failure::invalid) at its place in the file.
base::Status check_valid(const LoadedSchedule& loaded);

/// Reads and validates the schedule that `text` holds, as one of the problem of that name where one is given.
base::Result<LoadedSchedule> load_valid_schedule(const ScheduleText& text, const std::optional<std::string>& problem_name);

/// The same of the file at `path`: what every command that takes a finished schedule does with its arguments.
base::Result<LoadedSchedule> load_valid_schedule(const std::string& path, std::optional<ScheduleFormat> forced,
                                                 const std::optional<std::string>& problem_name);

}  // namespace dovetail::cli
