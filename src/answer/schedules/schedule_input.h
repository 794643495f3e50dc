// Reads schedules in any readable format.
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

/// Content of a schedule file. It is read only once, because a pipe cannot be read again.
struct ScheduleText {
  Input input;
  std::string content;
  /// The requested format, otherwise the detected one; nullopt if none is recognized.
  std::optional<ScheduleFormat> format;
};

/// Reads the document. Its format is `forced` if given, otherwise detected.
base::Result<ScheduleText> read_schedule_text(const Input& input, std::optional<ScheduleFormat> forced = std::nullopt);

/// Schedule with the format that it was read from.
struct LoadedSchedule {
  std::string path;
  ScheduleFormat format = ScheduleFormat::json;
  pipeline::ScheduleFile file;
};

/// Parses the schedule that `text` holds, as a schedule of `problem` if that is given. Reports the file's notes to
/// `watch`.
base::Result<LoadedSchedule> load_schedule(const ScheduleText& text, const pipeline::Problem* problem,
                                           const Watch& watch);

/// Parses and validates a schedule of `named`, except for its capacity: a schedule to start from or to compare with may
/// need more. An Error says how its problem differs from `named`.
base::Result<LoadedSchedule> load_schedule_of(const NamedProblem& named, const ScheduleText& text, const Watch& watch);

/// Returns the first rule that the schedule breaks, as an Error (Failure::invalid) at its place in the file.
base::Status check_valid(const LoadedSchedule& loaded);

/// Parses and validates the schedule that `text` holds, as a schedule of `problem` if that is given.
base::Result<LoadedSchedule> load_valid_schedule(const ScheduleText& text, const std::optional<Input>& problem,
                                                 const Watch& watch);

/// Reads, parses and validates a document. Used by every command that takes a finished schedule.
base::Result<LoadedSchedule> load_valid_schedule(const Input& input, std::optional<ScheduleFormat> forced,
                                                 const std::optional<Input>& problem, const Watch& watch);

}  // namespace dovetail::answer
