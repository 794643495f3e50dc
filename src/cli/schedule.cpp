// dovetail schedule: computes a schedule of a problem, or the front between makespan and peak activation.
// dovetail compare: compares the schedules of several solvers.
#include "answer/schedules/schedule.h"

#include <fmt/core.h>

#include <memory>

#include "answer/schedules/comparison.h"
#include "answer/schedules/front.h"
#include "answer/text/text.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/processes.h"
#include "cli/question_progress.h"
#include "cli/schedule_format.h"
#include "report/schedule/pareto_svg.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

/// Above the size of any front.
constexpr int max_picked = 1000;

struct ScheduleArguments {
  answer::ScheduleRequest request;
  MpiArguments mpi;
  int pick = 0;  ///< number of a schedule of the front, from 1; 0: the whole front
  std::optional<std::string> output;
  std::optional<std::string> format;
  bool json = false;

  bool is_front_request() const { return request.objective == answer::Objective::pareto; }
};

/// Destination of the answer, known before the search.
struct Output {
  std::optional<std::string> path;
  ScheduleFormat format = ScheduleFormat::json;
};

/// Rejects output options that cannot be combined.
base::Status check_schedule(const ScheduleArguments& arguments) {
  if (arguments.pick > 0 && !arguments.is_front_request())
    return base::bad_input("--pick needs --objective pareto: it selects a schedule of the front");
  if (arguments.pick > 0 && !arguments.output)
    return base::bad_input("--pick needs -o FILE: it selects the schedule to write");
  if (arguments.format && !arguments.output) return base::bad_input("--format needs -o FILE");
  return {};
}

base::Result<Output> output_of(const ScheduleArguments& arguments) {
  if (!arguments.output) return Output{};
  DOVETAIL_TRY(const ScheduleFormat format, format_to_write(*arguments.output, arguments.format));
  const bool whole_front = arguments.is_front_request() && arguments.pick == 0;
  if (whole_front && format != ScheduleFormat::json && format != ScheduleFormat::svg)
    return base::bad_input(fmt::format(
        "a front can be written as json or svg, not as {}; use --pick N to write one of its schedules in any format",
        base::enum_name(format)));
  return Output{arguments.output, format};
}

/// Answers `request` with a progress line and keeps `file` up to date. Treats an Error in `output` as an error of the
/// input, so that all processes of a distributed search return it, although only the first one writes.
template <class Request>
auto answer_checked(const Request& request, const base::Result<Output>& output, BestFile* file = nullptr) {
  // A folder of programs is checked by format_to_write.
  const bool is_file = output.ok() && output->format != ScheduleFormat::programs;
  QuestionProgress progress("schedule", {is_file ? output->path : std::nullopt}, PlainLines::every_few_seconds);
  answer::Callbacks callbacks = progress.callbacks();
  callbacks.on_read = [&output, check_inputs = callbacks.on_read]() -> base::Status {
    return output.ok() ? check_inputs() : output.error();
  };
  callbacks.on_figures = [file, show = callbacks.on_figures](const answer::Figures& figures) {
    show(figures);
    if (file != nullptr) file->catch_up();
  };
  return answer_to(request, callbacks);
}

/// Functions that produce the content of an answer's file and write it.
struct Written {
  std::function<base::Result<std::string>()> content;
  std::function<base::Result<std::vector<std::string>>()> write;
};

/// Writes and prints an answer. The printed text names the files written. An answer that cannot be written is still
/// printed.
template <class Answer>
base::Status deliver_written(Answer& answer, bool json, const std::optional<std::string>& path,
                             const Written& written) {
  if (path && json && is_standard_output(*path)) return deliver_json(to_json(answer), {path, written.content});
  base::Status status;
  if (path) {
    base::Result<std::vector<std::string>> files = written.write();
    if (files.ok())
      answer.written = *std::move(files);
    else
      status = std::move(files).error();
  }
  if (json)
    print_json(to_json(answer));
  else
    print_unless_stdout(path, report::text_of(sections(answer)));
  return status;
}

/// Prints an answer without a feasible schedule. No file is written.
template <class Answer>
void report_infeasible(const Answer& answer, bool json) {
  if (json) print_json(to_json(answer));
  print_error("dovetail: " + report::text_of(sections(answer)));
}

Written written_schedule(const pipeline::Schedule& schedule, const std::string& title, const Output& output) {
  return {[&] { return schedule_content(schedule, title, output.format); },
          [&] { return write_schedule(schedule, title, output.format, *output.path); }};
}

base::Result<int> run_one(const ScheduleArguments& arguments, const base::Result<Output>& output) {
  answer::ScheduleRequest request = arguments.request;
  BestFile file;
  if (request.exchange && output.ok() && output->path && can_be_rewritten(*output->path))
    request.on_better = [&](const pipeline::Schedule& schedule) {
      file.take([&output, &request, schedule] {
        (void)write_schedule(schedule, answer::name_of(request.problem), output->format, *output->path);
      });
    };
  DOVETAIL_TRY(answer::ScheduleAnswer answer, answer_checked(request, output, &file));
  if (answer.outcome == answer::Outcome::infeasible)
    report_infeasible(answer, arguments.json);
  else
    DOVETAIL_CHECK(deliver_written(answer, arguments.json, output->path,
                                   written_schedule(answer.solved->schedule, answer.question.named.name, *output)));
  if (const auto lost = answer.lost_process()) return *lost;
  return exit_code_of(answer.outcome);
}

Written written_front(const answer::FrontAnswer& answer, const ScheduleArguments& arguments, const Output& output) {
  if (arguments.pick > 0) {
    const auto picked = static_cast<std::size_t>(arguments.pick) - 1;
    return written_schedule(answer.schedules[picked].solved.schedule, answer.question.named.name, output);
  }
  const auto content = [&]() -> base::Result<std::string> {
    return output.format == ScheduleFormat::svg ? report::render_pareto_svg(report::picture_of(answer))
                                                : answer::front_file(answer);
  };
  return {content, [&output, content] { return write_outputs({{*output.path, *content()}}); }};
}

/// Writes and prints the front. If --pick exceeds its size, prints the front before it returns the Error.
base::Status deliver_front(answer::FrontAnswer& answer, const ScheduleArguments& arguments, const Output& output) {
  const auto schedules = static_cast<std::int64_t>(answer.schedules.size());
  if (arguments.pick <= schedules)
    return deliver_written(answer, arguments.json, output.path, written_front(answer, arguments, output));
  if (arguments.json)
    print_json(to_json(answer));
  else
    print_unless_stdout(output.path, report::text_of(sections(answer)));
  return base::bad_input(
      fmt::format("the front has {}; --pick must be from 1 to {}", answer::counted(schedules, "schedule"), schedules));
}

base::Result<int> run_front(const ScheduleArguments& arguments, const base::Result<Output>& output) {
  DOVETAIL_TRY(answer::FrontRequest request, answer::front_of(arguments.request));
  request.peak_bound = arguments.json || (output.ok() && output->path && arguments.pick == 0);
  DOVETAIL_TRY(answer::FrontAnswer answer, answer_checked(request, output));
  base::Status delivered;
  if (answer.outcome == answer::Outcome::infeasible)
    report_infeasible(answer, arguments.json);
  else
    delivered = deliver_front(answer, arguments, *output);
  // An interrupted front may have fewer schedules than --pick assumes.
  const auto lost = answer.lost_process();
  if (lost && (delivered.ok() || delivered.error().failure == base::Failure::bad_input)) return *lost;
  DOVETAIL_CHECK(delivered);
  return exit_code_of(answer.outcome);
}

base::Result<int> run_schedule(const ScheduleArguments& given) {
  DOVETAIL_TRY(const std::optional<parallel::Exchange> exchange, connect_processes(given.mpi));
  DOVETAIL_CHECK(check_schedule(given));
  ScheduleArguments arguments = given;
  if (exchange) arguments.request.exchange = &*exchange;
  if (exchange && exchange->rank > 0) arguments.output.reset();
  const base::Result<Output> output = output_of(arguments);
  if (!exchange && !output.ok()) return output.error();
  auto code = arguments.is_front_request() ? run_front(arguments, output) : run_one(arguments, output);
  if (exchange && !code.ok() && code.error().failure == base::Failure::lost) wait_for_the_first(*exchange);
  return code;
}

}  // namespace

void add_schedule(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ScheduleArguments>();
  CLI::App* command = add_command(program, "schedule", "compute a schedule of a problem",
                                  "  dovetail schedule examples/two-models.yaml --time-limit 30s -o schedule.json\n"
                                  "  dovetail schedule exp5 -o exp5.svg\n"
                                  "  dovetail schedule exp5 --objective pareto -o front.svg\n\nSolvers:\n" +
                                      answer::list_of_solvers());
  add_request(*command, arguments->request);
  add_count_option(*command, "--pick", arguments->pick, 1, max_picked, "row of the front to write to -o FILE");
  add_mpi_options(*command, arguments->mpi);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write the schedule, or the front (.json, .svg), to FILE");
  add_text_option(*command, "--format", arguments->format, written_formats, "format of FILE (default: by extension)");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_schedule(*arguments); });
}

namespace {

struct CompareArguments {
  answer::ComparisonRequest request;
  bool json = false;
};

base::Result<int> run_compare(const CompareArguments& arguments) {
  DOVETAIL_TRY(const answer::ComparisonAnswer answer,
               answer_to(arguments.request, "compare", {}, PlainLines::every_few_seconds));
  DOVETAIL_CHECK(deliver(answer, arguments.json));
  return exit_code_of(answer.outcome);
}

}  // namespace

void add_compare(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = add_command(program, "compare", "compare the schedules of several solvers",
                                  "  dovetail compare exp5\n  dovetail compare examples/two-models.yaml --solver "
                                  "greedy --solver auto --time-limit 1m");
  add_request(*command, arguments->request);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_compare(*arguments); });
}

}  // namespace dovetail::cli
