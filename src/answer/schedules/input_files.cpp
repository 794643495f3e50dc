#include "answer/schedules/input_files.h"

#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "answer/text/figures.h"
#include "base/document.h"
#include "base/utf8.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/instances.h"
#include "pipeline/problem/problem_file.h"
#include "pipeline/schedule/schedule_diff.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::answer {
namespace {

/// Number of leading bytes to inspect when recognizing a file. Every format names itself near its start.
constexpr std::size_t looked_through = 4096;

bool holds_document(const Input& input) {
  std::error_code ignored;
  return input.text || input.path == "-" || std::filesystem::exists(input.path, ignored);
}

base::Error neither_file_nor_instance(const std::string& name) {
  std::vector<std::string_view> names;
  for (const pipeline::Instance& instance : pipeline::instances()) names.push_back(instance.name);
  constexpr std::size_t max_named = 3;
  const std::string hint = base::did_you_mean(name, names, max_named);
  return base::bad_input(fmt::format("'{}' is neither a file nor a bundled instance{} see dovetail instances", name,
                                     hint.empty() ? ";" : hint));
}

base::Error problem_in_place_of_schedule(const std::string& name) {
  return base::bad_input(fmt::format(
      "'{0}' is a problem, not a schedule; create a schedule with: dovetail schedule {0} -o {0}.json", name));
}

base::Error no_schedule(const std::string& path) {
  return {base::Failure::bad_input, path, 1, 1,
          "not a schedule; it must start with a brace (JSON), a bracket (FlexFusion trace) or an action such as 0F0 "
          "(PyTorch CSV)"};
}

/// Returns an Error if a CSV, which holds one pipeline, is read as a schedule of a problem with several. The reader's
/// own message would not explain this.
base::Status check_one_pipeline(const pipeline::Problem& problem, const std::string& path) {
  const auto pipelines = static_cast<std::int64_t>(pipeline::pipelines_of(problem).size());
  if (pipelines == 1) return {};
  return base::Error{
      base::Failure::bad_input, path, 0, 0,
      fmt::format(
          "a PyTorch CSV holds one pipeline, but the problem has {}; write the problem to a file "
          "with dovetail problem -o FILE, keep one model and one replica in it, and pass the file with --problem",
          pipelines)};
}

base::Result<pipeline::ScheduleFile> parse_as(ScheduleFormat format, std::string_view content, const std::string& path,
                                              const pipeline::Problem* problem) {
  if (format == ScheduleFormat::trace) return pipeline::parse_trace(content, path, problem);
  if (format != ScheduleFormat::json) {
    if (problem != nullptr) DOVETAIL_CHECK(check_one_pipeline(*problem, path));
    return pipeline::parse_pytorch_csv(content, path, problem);
  }
  DOVETAIL_TRY(pipeline::ScheduleFile file, pipeline::parse_schedule(content, path));
  if (problem == nullptr) return file;
  const pipeline::TimeUnit unit = file.schedule.problem.time_unit;
  const bool same_kind = (unit == pipeline::TimeUnit::tick) == (problem->time_unit == pipeline::TimeUnit::tick);
  if (!same_kind) {
    return base::Error{
        base::Failure::bad_input, path, 0, 0,
        fmt::format("the schedule's time_unit is {}, but the problem's is {}; ticks and seconds cannot be compared",
                    base::name_of(unit), base::name_of(problem->time_unit))};
  }
  file.schedule.problem = *problem;
  return file;
}

/// Parses a schedule of `named`. A JSON schedule must hold this problem. The other formats hold no problem and are read
/// as schedules of it.
base::Result<pipeline::ScheduleFile> parse_of(const NamedProblem& named, ScheduleFormat format,
                                              std::string_view content, const std::string& path) {
  if (format != ScheduleFormat::json) return parse_as(format, content, path, &named.problem);
  DOVETAIL_TRY(pipeline::ScheduleFile file, pipeline::parse_schedule(content, path));
  if (const auto difference = pipeline::find_difference(file.schedule.problem, named.problem, path, named.name)) {
    return base::Error{base::Failure::bad_input, path, 0, 0,
                       fmt::format("the problem of this schedule differs from {}: {}", named.name, *difference)};
  }
  file.schedule.problem = named.problem;
  return file;
}

/// Reads the schedule by calling parse(format, content, path for messages).
template <class Parse>
base::Result<LoadedSchedule> load_parsed(const ScheduleText& text, const Callbacks& callbacks, const Parse& parse) {
  LoadedSchedule loaded{name_of(text.input), text.format.value_or(ScheduleFormat::json), {}};
  base::Result<pipeline::ScheduleFile> parsed = text.format
                                                    ? parse(loaded.format, text.content, loaded.path)
                                                    : base::Result<pipeline::ScheduleFile>(no_schedule(loaded.path));
  if (!parsed.ok()) {
    // Guess the format only of unreadable files: names in a valid schedule may resemble any format.
    const auto other = describe_other_content(text.content, text.input.path);
    if (other) return base::Error{base::Failure::bad_input, loaded.path, 0, 0, *other};
    return std::move(parsed).error();
  }
  loaded.file = std::move(*parsed);
  for (const std::string& note : loaded.file.notes) notify_note(callbacks, note);
  return loaded;
}

}  // namespace

base::Error unknown_format(std::string_view name, const std::vector<std::string_view>& accepted) {
  return base::bad_input(
      fmt::format("'{}' is not a schedule format{}", name, hint_and_list(name, "accepted:", accepted)));
}

base::Result<std::optional<ScheduleFormat>> format_to_read(const std::optional<std::string>& name) {
  if (!name) return std::optional<ScheduleFormat>();
  const auto format = base::enum_named<ScheduleFormat>(*name);
  if (!format) return unknown_format(*name, {"json", "trace", "csv"});
  if (*format == ScheduleFormat::chrome || *format == ScheduleFormat::svg)
    return base::bad_input(fmt::format("{} files can be written, but not read; accepted: json, trace, csv", *name));
  if (*format == ScheduleFormat::programs)
    return base::bad_input("programs are read from their folder, without this option; accepted: json, trace, csv");
  // Both kinds of CSV are read by the same parser.
  return *format == ScheduleFormat::csv_comms ? ScheduleFormat::csv : format;
}

std::optional<ScheduleFormat> format_of_content(std::string_view content) {
  const std::string_view text = base::without_byte_order_mark(content);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  const char letter = text[first];
  if (letter == '{') return ScheduleFormat::json;
  if (letter == '[') return ScheduleFormat::trace;
  const bool starts_csv = (letter >= '0' && letter <= '9') || letter == ',' || letter == '(' || letter == '"';
  return starts_csv ? std::optional(ScheduleFormat::csv) : std::nullopt;
}

std::optional<std::string> describe_other_content(std::string_view content, const std::string& path) {
  const std::string_view start = base::without_byte_order_mark(content).substr(0, looked_through);
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  if (start.find("\"dovetail/pareto@1\"") != std::string_view::npos) {
    return "this is a Pareto front of several schedules; write one of them with: dovetail schedule PROBLEM --objective "
           "pareto --pick N -o FILE";
  }
  if (start.find(pipeline::problem_format) < start.find(pipeline::schedule_format)) {
    return fmt::format("this is a problem, not a schedule; create a schedule with: dovetail schedule {}", path);
  }
  if (timeline::is_chrome_trace(content)) {
    return fmt::format(
        "this is a Chrome trace, not a schedule; accepted: json, trace, csv (dovetail report {} displays the trace)",
        path);
  }
  if (start[first] == '<' && start.find("<svg") != std::string_view::npos) {
    return "this is an SVG picture, which cannot be read; accepted: json, trace, csv";
  }
  return std::nullopt;
}

std::string named_format(std::string_view content) {
  constexpr std::string_view key = "format";
  constexpr std::string_view own = "dovetail/";
  // Small files are parsed completely, because comments and other keys may come first.
  constexpr std::size_t small = 1 << 20;
  if (content.size() <= small) {
    const auto document = base::parse_yaml_or_json(content, "");
    const auto named = document.ok() && document->root().is_map() ? document->root().find(key) : std::nullopt;
    if (named && named->is_string() && named->text().starts_with(own))
      return std::string(named->text().substr(0, named->text().find('@')));
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

base::Result<NamedProblem> read_problem(const Input& input, const Callbacks& callbacks) {
  const pipeline::Instance* instance = pipeline::find_instance(input.path);
  if (!holds_document(input)) {
    if (instance == nullptr) return neither_file_nor_instance(input.path);
    return NamedProblem{instance->name, instance->problem};
  }
  if (instance != nullptr && !input.text)
    notify_note(callbacks,
                fmt::format("'{}' is a file here; the bundled instance with this name is ignored", input.path));
  DOVETAIL_TRY(const std::string content, read_input(input));
  const std::string name = name_of(input);
  base::Result<pipeline::Problem> problem = pipeline::parse_problem(content, name);
  if (problem.ok()) return NamedProblem{name, std::move(*problem)};
  if (!is_own_schedule(content)) return std::move(problem).error();
  return base::Error{
      base::Failure::bad_input, name, 0, 0,
      fmt::format("this is a schedule, not a problem; dovetail check {} compares it with the bounds of its problem",
                  input.path)};
}

bool is_instance(const Input& input) {
  return !holds_document(input) && pipeline::find_instance(input.path) != nullptr;
}

base::Result<ScheduleText> read_schedule_text(const Input& input, std::optional<ScheduleFormat> forced) {
  if (is_instance(input)) return problem_in_place_of_schedule(input.path);
  DOVETAIL_TRY(std::string content, read_input(input));
  const auto format = forced ? forced : format_of_content(content);
  return ScheduleText{input, std::move(content), format};
}

base::Result<LoadedSchedule> load_schedule(const ScheduleText& text, const pipeline::Problem* problem,
                                           const Callbacks& callbacks) {
  const auto parse = [problem](ScheduleFormat format, std::string_view content, const std::string& shown) {
    return parse_as(format, content, shown, problem);
  };
  return load_parsed(text, callbacks, parse);
}

base::Result<LoadedSchedule> load_schedule_of(const NamedProblem& named, const ScheduleText& text,
                                              const Callbacks& callbacks) {
  const auto parse = [&named](ScheduleFormat format, std::string_view content, const std::string& shown) {
    return parse_of(named, format, content, shown);
  };
  DOVETAIL_TRY(LoadedSchedule loaded, load_parsed(text, callbacks, parse));
  auto capacity = std::exchange(loaded.file.schedule.problem.capacity, std::nullopt);
  DOVETAIL_CHECK(check_valid(loaded));
  loaded.file.schedule.problem.capacity = std::move(capacity);
  return loaded;
}

base::Status check_valid(const LoadedSchedule& loaded) {
  pipeline::Tolerance tolerance;
  if (loaded.format == ScheduleFormat::trace) tolerance.activation = pipeline::trace_activation_tolerance;
  const auto violation = pipeline::validate(loaded.file.schedule, tolerance);
  if (!violation)
    return loaded.file.activation_mismatch ? base::Status(*loaded.file.activation_mismatch) : base::Status();
  base::Error error{base::Failure::invalid, loaded.path, 0, 0,
                    fmt::format("{}: {}", pipeline::name_of(violation->rule), violation->message)};
  const base::FilePlace place = pipeline::place_of(loaded.file, *violation);
  error.line = place.line;
  error.column = place.column;
  return error;
}

base::Result<LoadedSchedule> load_valid_schedule(const ScheduleText& text, const std::optional<Input>& problem,
                                                 const Callbacks& callbacks) {
  if (problem && is_standard_input(*problem) && is_standard_input(text.input))
    return base::bad_input("the schedule and the problem cannot both be read from standard input");
  std::optional<NamedProblem> named;
  if (problem) {
    DOVETAIL_TRY(named, read_problem(*problem, callbacks));
  }
  DOVETAIL_TRY(LoadedSchedule loaded, load_schedule(text, named ? &named->problem : nullptr, callbacks));
  DOVETAIL_CHECK(check_valid(loaded));
  return loaded;
}

base::Result<LoadedSchedule> load_valid_schedule(const Input& input, std::optional<ScheduleFormat> forced,
                                                 const std::optional<Input>& problem, const Callbacks& callbacks) {
  DOVETAIL_TRY(const ScheduleText text, read_schedule_text(input, forced));
  return load_valid_schedule(text, problem, callbacks);
}

}  // namespace dovetail::answer
