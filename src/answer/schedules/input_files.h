// Reads problems and schedules in any readable format, and recognizes other files.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "base/enum_names.h"
#include "base/result.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::answer {

enum class ScheduleFormat { json, trace, chrome, svg, csv, csv_comms, programs };

constexpr auto names_of(ScheduleFormat) {
  return std::array{
      base::EnumName{"json", ScheduleFormat::json},        base::EnumName{"trace", ScheduleFormat::trace},
      base::EnumName{"chrome", ScheduleFormat::chrome},    base::EnumName{"svg", ScheduleFormat::svg},
      base::EnumName{"csv", ScheduleFormat::csv},          base::EnumName{"csv-comms", ScheduleFormat::csv_comms},
      base::EnumName{"programs", ScheduleFormat::programs}};
}

/// Formats that can be read.
inline constexpr const char* read_formats = "json|trace|csv";

/// Returns the Error about the unknown format `name`. It lists `accepted` and suggests a similar name.
base::Error unknown_format(std::string_view name, const std::vector<std::string_view>& accepted);

/// Returns the format with this name; nullopt if no name is given. Both kinds of CSV are returned as csv. For an
/// unknown name or a format that cannot be read, the Error lists the readable formats.
base::Result<std::optional<ScheduleFormat>> format_to_read(const std::optional<std::string>& name);

/// Detects the format of `content` by its first character: JSON by a brace, a trace by a bracket, CSV by a digit, a
/// quote, a comma (an empty cell) or a parenthesis. Skips a byte order mark and white space. nullopt for any other
/// character, or if none follows.
std::optional<ScheduleFormat> format_of_content(std::string_view content);

/// If `content` is a problem, a Pareto front, a Chrome trace or an SVG picture instead of a schedule, returns a message
/// that says so and what to do. `path` is the path that the user gave. nullopt for any other content.
std::optional<std::string> describe_other_content(std::string_view content, const std::string& path);

/// Returns the Dovetail format that the key `format` of `content` names, without its version: "dovetail/job". If the
/// content is too large, cannot be parsed or lacks the key, returns the first Dovetail format named near its start.
/// Empty if the key names another format, or if no Dovetail format is named.
std::string named_format(std::string_view content);

/// Whether `content` names Dovetail's schedule format near its start, and does not name the problem format before it.
bool is_own_schedule(std::string_view content);

/// Problem with the name of its instance or the path of its file.
struct NamedProblem {
  std::string name;
  pipeline::Problem problem;
};

/// Reads a problem from the text in `input`, standard input ("-"), an existing file or a bundled instance, in this
/// order of precedence. If none applies, the Error suggests similar instances.
base::Result<NamedProblem> read_problem(const Input& input, const Callbacks& callbacks);

/// Whether `input` names a bundled instance, and no file has that name.
bool is_instance(const Input& input);

/// Content of a schedule file. It is read only once, because a pipe cannot be read again.
struct ScheduleText {
  Input input;
  std::string content;
  /// The requested format, otherwise the detected one; nullopt if none is recognized.
  std::optional<ScheduleFormat> format;
};

/// Reads a document. Its format is `forced` if given, otherwise detected. The name of a bundled instance is an Error.
base::Result<ScheduleText> read_schedule_text(const Input& input, std::optional<ScheduleFormat> forced = std::nullopt);

/// Schedule with the format that it was read from.
struct LoadedSchedule {
  std::string path;
  ScheduleFormat format = ScheduleFormat::json;
  pipeline::ScheduleFile file;
};

/// Parses the schedule in `text`. If `problem` is not null, parses it as a schedule of `problem` and ignores the
/// problem in a JSON file, except that it is an Error if only one of the two problems is in ticks. Reports the file's
/// notes to `callbacks`. Does not validate the schedule.
base::Result<LoadedSchedule> load_schedule(const ScheduleText& text, const pipeline::Problem* problem,
                                           const Callbacks& callbacks);

/// Parses and validates a schedule of `named`. Does not check the capacity, because a schedule to start from or to
/// compare with may exceed it. If the file holds a different problem, the Error says how it differs from `named`.
base::Result<LoadedSchedule> load_schedule_of(const NamedProblem& named, const ScheduleText& text,
                                              const Callbacks& callbacks);

/// Returns an Error (Failure::invalid) for the first rule that the schedule breaks, at its place in the file. If it
/// breaks none, returns ScheduleFile::activation_mismatch if that is set.
base::Status check_valid(const LoadedSchedule& loaded);

/// Parses the schedule in `text` like load_schedule, and validates it. `problem` is read by read_problem; nullopt: the
/// problem in the file, or one inferred from it.
base::Result<LoadedSchedule> load_valid_schedule(const ScheduleText& text, const std::optional<Input>& problem,
                                                 const Callbacks& callbacks);

/// Reads a document (read_schedule_text), then parses and validates it like the overload above. For commands that take
/// a finished schedule.
base::Result<LoadedSchedule> load_valid_schedule(const Input& input, std::optional<ScheduleFormat> forced,
                                                 const std::optional<Input>& problem, const Callbacks& callbacks);

}  // namespace dovetail::answer
