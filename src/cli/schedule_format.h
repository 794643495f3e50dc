// The formats of schedules: their names, how to tell them, and writing them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::cli {

enum class ScheduleFormat { json, trace, chrome, svg, csv, csv_comms };

/// "json", "trace", "chrome", "svg", "csv", "csv-comms".
std::string_view name_of(ScheduleFormat format);

/// What --format accepts for writing ("json|trace|...") and for reading.
inline constexpr const char* written_formats = "json|trace|chrome|svg|csv|csv-comms";
inline constexpr const char* read_formats = "json|trace|csv";

/// Whether `path` is standard output: "-", or /dev/stdout, which is treated alike.
bool is_standard_output(const std::string& path);

/// The format of that name for reading, or an Error that lists those that can be read.
base::Result<ScheduleFormat> format_to_read(std::string_view name);

/// The format to write `path` in: `name` where it is given, else by the path's extension (.chrome.json or .trace.json, .json, .svg,
/// .csv, .txt or .trace). An Error names what is accepted; also where the folder of `path` does not exist, so that a long search
/// is not lost to a slip of the fingers.
base::Result<ScheduleFormat> format_to_write(const std::string& path, const std::optional<std::string>& name);

/// An Error where `path`, which is to be written, cannot be: its folder does not exist, or nothing can be written there.
base::Status check_output_path(const std::string& path);

/// An Error where `path`, which is to be written, if anything is, is a file that was read, also one that another input named
/// (base::read_as), or one that is still to be read: it would be lost. write_output() asks as well; asked before long work, that is not
/// done in vain.
base::Status check_no_input(const std::optional<std::string>& path, const std::vector<std::optional<std::string>>& to_be_read = {});

/// What every command checks of its options -o, --format and --json: a format without a file, or two answers on standard output, is an
/// Error.
base::Status check_output_options(const std::optional<std::string>& path, const std::optional<std::string>& format, bool json);

/// Writes `content` to the file at `path`, and gives the name of where it is: "<stdout>" for standard output. An Error where an input would
/// be lost.
base::Result<std::string> write_output(const std::string& path, std::string_view content);

/// A file of an answer that has several.
struct OutputFile {
  std::string path;
  std::string content;
};

/// The same of a set of files, which is written whole or not at all (base::write_files). REQUIRES: none of several is standard output.
base::Result<std::vector<std::string>> write_outputs(const std::vector<OutputFile>& files);

/// Prints `text`, what is said of an answer that is written to `path`: on standard error where that is standard output.
void print_beside(const std::optional<std::string>& path, std::string_view text);

/// What `content`, which is no schedule that can be read, is instead, and what to do with it: a problem, a Chrome trace, a picture.
/// `path` is how the user called it. Nothing where it looks like none of them.
std::optional<std::string> describe_other_content(std::string_view content, const std::string& path);

/// The one of our formats that `content` names by its key `format`, without its version: "dovetail/job"; empty where it names none. Of what
/// is too large to be read twice, or cannot be, the first that its beginning names.
std::string named_format(std::string_view content);

/// Whether `content` is a schedule of our own, by its format.
bool is_own_schedule(std::string_view content);

/// The format that `content` looks like, behind a byte order mark where it has one: JSON starts with a brace, a trace with a bracket, a CSV
/// with a digit, a comma (an empty cell) or a parenthesis.
std::optional<ScheduleFormat> format_of_content(std::string_view content);

/// Writes the schedule, called `title` in pictures, and gives the paths written: one, or a CSV for each pipeline.
/// REQUIRES: no validate(schedule).
base::Result<std::vector<std::string>> write_schedule(const pipeline::Schedule& schedule, const std::string& title, ScheduleFormat format,
                                                      const std::string& path);

}  // namespace dovetail::cli
