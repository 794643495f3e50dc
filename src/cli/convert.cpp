// dovetail convert: converts a schedule from one format to another.
#include <fmt/core.h>

#include <memory>

#include "answer/question/json.h"
#include "answer/schedules/input_files.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/question_progress.h"
#include "cli/schedule_format.h"
#include "fuse/bounds/bounds.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::cli {
namespace {

struct ConvertArguments {
  std::string input;
  std::string output;
  std::optional<std::string> from;
  std::optional<std::string> to;
  std::optional<answer::Input> problem;
  bool json = false;
};

/// Recomputes the claims for the new file: a trace has a rounded peak and no bounds.
void renew_claims(pipeline::Schedule& schedule) {
  const pipeline::LoweredSchedule lowered = pipeline::evaluate(schedule);
  pipeline::Claims& claims = schedule.claims;
  claims.makespan = lowered.evaluation.makespan;
  claims.peak_activation = lowered.evaluation.peak_activation;
  claims.bound_makespan = fuse::bounds_of(schedule.problem).makespan;
  claims.bound_peak_activation = fuse::peak_activation_bound(schedule.problem, lowered.evaluation.makespan);
  claims.optimal_makespan = claims.makespan == claims.bound_makespan;
  claims.optimal_peak_activation = claims.peak_activation == claims.bound_peak_activation;
}

/// A CSV without its problem can be viewed with placeholder times. These must not be saved.
base::Error needs_problem(const std::string& path) {
  return {base::Failure::bad_input, path, 0, 0,
          "a CSV holds the order of ops but no times; give its problem with --problem PROBLEM"};
}

base::Result<int> run_convert(const ConvertArguments& arguments) {
  const bool to_standard_output = is_standard_output(arguments.output);
  if (arguments.json && to_standard_output)
    return base::bad_input("--json and output '-' cannot be combined: both write to standard output");
  DOVETAIL_TRY(const auto from, answer::format_to_read(arguments.from));
  DOVETAIL_TRY(const ScheduleFormat to, format_to_write(arguments.output, arguments.to));
  DOVETAIL_TRY(answer::LoadedSchedule loaded,
               answer::load_valid_schedule({arguments.input}, from, arguments.problem, note_callbacks()));
  if (loaded.format == ScheduleFormat::csv && !arguments.problem) return needs_problem(loaded.path);
  renew_claims(loaded.file.schedule);
  DOVETAIL_TRY(const std::vector<std::string> written,
               write_schedule(loaded.file.schedule, loaded.path, to, arguments.output));
  if (arguments.json) {
    print_json(answer::json_text(answer::Json{{"format", "dovetail/convert@1"},
                                              {"from", base::enum_name(loaded.format)},
                                              {"to", base::enum_name(to)},
                                              {"notes", loaded.file.notes},
                                              {"written", written}}));
  } else if (!to_standard_output) {
    for (const std::string& path : written) print(fmt::format("written: {} ({})\n", path, base::enum_name(to)));
  }
  return exit_done;
}

}  // namespace

void add_convert(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command =
      add_command(program, "convert", "convert a schedule to another format",
                  "  dovetail schedule exp5 --solver greedy -o schedule.json\n"
                  "  dovetail convert schedule.json schedule.chrome.json\n"
                  "  dovetail convert schedule.json trace.txt\n"
                  "  dovetail convert schedule.json programs/\n\n"
                  "A schedule of several pipelines becomes one CSV per pipeline. Programs become a folder\n"
                  "with one file per rank.");
  add_positional(*command, "IN", arguments->input, "schedule: JSON, FlexFusion trace, PyTorch CSV, or '-' for stdin");
  add_positional(*command, "OUT", arguments->output, "file or folder to write, or '-' for stdout");
  add_text_option(*command, "--from", arguments->from, answer::read_formats,
                  "format of IN (default: detected from its content)");
  add_text_option(*command, "--to", arguments->to, written_formats, "format of OUT (default: by extension)");
  add_problem_option(*command, arguments->problem, "problem of the schedule (default: the one in the file)");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_convert(*arguments); });
}

}  // namespace dovetail::cli
