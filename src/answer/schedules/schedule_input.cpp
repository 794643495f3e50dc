#include "answer/schedules/schedule_input.h"

#include <fmt/format.h>

#include <utility>

#include "answer/schedules/file_kind.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/schedule/schedule_diff.h"

namespace dovetail::answer {
namespace {

base::Error problem_in_place_of_schedule(const std::string& name) {
  return base::bad_input(
      fmt::format("'{0}' is a problem, not a schedule; create one with: dovetail schedule {0} -o {0}.json", name));
}

base::Error no_schedule(const std::string& path) {
  return {base::Failure::bad_input, path, 1, 1,
          "not a schedule; accepted: JSON (starts with a brace), a FlexFusion trace (with a bracket), a PyTorch CSV "
          "(with an action such as 0F0)"};
}

/// A CSV holds one pipeline. Explains this before the reader rejects a problem with several.
base::Status check_one_pipeline(const pipeline::Problem& problem, const std::string& path) {
  const auto pipelines = static_cast<std::int64_t>(pipeline::pipelines_of(problem).size());
  if (pipelines == 1) return {};
  return base::Error{base::Failure::bad_input, path, 0, 0,
                     fmt::format("a PyTorch CSV holds one pipeline, but the problem has {}; give a copy of the problem "
                                 "that keeps one model and one replica (dovetail problem prints it)",
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
                       fmt::format("this schedule is for another problem than {}: {}", named.name, *difference)};
  }
  file.schedule.problem = named.problem;
  return file;
}

/// Reads the schedule with `parse`, which receives the format, the content and the path for messages.
template <class Parse>
base::Result<LoadedSchedule> load_parsed(const ScheduleText& text, const Watch& watch, const Parse& parse) {
  LoadedSchedule loaded{name_of(text.input), text.format.value_or(ScheduleFormat::json), {}};
  base::Result<pipeline::ScheduleFile> parsed = text.format
                                                    ? parse(loaded.format, text.content, loaded.path)
                                                    : base::Result<pipeline::ScheduleFile>(no_schedule(loaded.path));
  if (!parsed.ok()) {
    // Only for unreadable files: a name in a valid schedule may look like anything.
    const auto other = describe_other_content(text.content, text.input.path);
    if (other) return base::Error{base::Failure::bad_input, loaded.path, 0, 0, *other};
    return std::move(parsed).error();
  }
  loaded.file = std::move(*parsed);
  for (const std::string& note : loaded.file.notes) tell_note(watch, note);
  return loaded;
}

}  // namespace

base::Result<ScheduleText> read_schedule_text(const Input& input, std::optional<ScheduleFormat> forced) {
  if (is_instance(input)) return problem_in_place_of_schedule(input.path);
  DOVETAIL_TRY(std::string content, read_input(input));
  const auto format = forced ? forced : format_of_content(content);
  return ScheduleText{input, std::move(content), format};
}

base::Result<LoadedSchedule> load_schedule(const ScheduleText& text, const pipeline::Problem* problem,
                                           const Watch& watch) {
  const auto parse = [problem](ScheduleFormat format, std::string_view content, const std::string& shown) {
    return parse_as(format, content, shown, problem);
  };
  return load_parsed(text, watch, parse);
}

base::Result<LoadedSchedule> load_schedule_of(const NamedProblem& named, const ScheduleText& text, const Watch& watch) {
  const auto parse = [&named](ScheduleFormat format, std::string_view content, const std::string& shown) {
    return parse_of(named, format, content, shown);
  };
  DOVETAIL_TRY(LoadedSchedule loaded, load_parsed(text, watch, parse));
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
                                                 const Watch& watch) {
  if (problem && is_standard_input(*problem) && is_standard_input(text.input))
    return base::bad_input("the schedule and the problem cannot both be read from standard input");
  std::optional<NamedProblem> named;
  if (problem) {
    DOVETAIL_TRY(named, read_problem(*problem, watch));
  }
  DOVETAIL_TRY(LoadedSchedule loaded, load_schedule(text, named ? &named->problem : nullptr, watch));
  DOVETAIL_CHECK(check_valid(loaded));
  return loaded;
}

base::Result<LoadedSchedule> load_valid_schedule(const Input& input, std::optional<ScheduleFormat> forced,
                                                 const std::optional<Input>& problem, const Watch& watch) {
  DOVETAIL_TRY(const ScheduleText text, read_schedule_text(input, forced));
  return load_valid_schedule(text, problem, watch);
}

}  // namespace dovetail::answer
