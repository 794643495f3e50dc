// Schedules as requests name them: files in any of the formats that can be read.
#pragma once

#include <optional>
#include <string>

#include "answer/question/input.h"
#include "answer/question/watch.h"
#include "answer/schedules/problem_input.h"
#include "answer/schedules/schedule_format.h"
#include "base/result.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::answer {

/// What the file of a schedule holds: read once, because a pipe gives it only once.
struct ScheduleText {
  Input input;
  std::string content;
  /// The one that was asked for, else told from the content; nothing where that looks like none.
  std::optional<ScheduleFormat> format;
};

/// Reads the document; its format is `forced`, else told from its content.
base::Result<ScheduleText> read_schedule_text(const Input& input, std::optional<ScheduleFormat> forced = std::nullopt);

/// A schedule as it was read; `format` says how.
struct LoadedSchedule {
  std::string path;
  ScheduleFormat format = ScheduleFormat::json;
  pipeline::ScheduleFile file;
};

/// Reads the schedule that `text` holds. With `problem` it becomes a schedule of that problem. `watch` is told the
/// file's notes.
base::Result<LoadedSchedule> load_schedule(const ScheduleText& text, const pipeline::Problem* problem,
                                           const Watch& watch);

/// Reads a schedule that has to be one of `named`'s problem, and validates it, but for the capacity: a schedule to
/// start from or to compare may need more. One of another problem is an Error that says what differs.
base::Result<LoadedSchedule> load_schedule_of(const NamedProblem& named, const ScheduleText& text, const Watch& watch);

/// The first rule that the schedule breaks, as an Error (Failure::invalid) at its place in the file.
base::Status check_valid(const LoadedSchedule& loaded);

/// Reads and validates the schedule that `text` holds, as one of `problem` where one is given.
base::Result<LoadedSchedule> load_valid_schedule(const ScheduleText& text, const std::optional<Input>& problem,
                                                 const Watch& watch);

/// The same of a document: what every command that takes a finished schedule does with its arguments.
base::Result<LoadedSchedule> load_valid_schedule(const Input& input, std::optional<ScheduleFormat> forced,
                                                 const std::optional<Input>& problem, const Watch& watch);

}  // namespace dovetail::answer
