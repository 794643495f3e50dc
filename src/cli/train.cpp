// dovetail train: checks the input of a run, plans it, and starts dovetail-train.
//
// With --stub, replays a schedule on ranks that wait instead of computing.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "answer/runs/replay.h"
#include "answer/runs/training_run.h"
#include "base/file.h"
#include "base/result.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/question_progress.h"
#include "cli/runtime_program.h"
#include "cluster/cluster.h"
#include "plan/plan_file.h"
#include "report/overlay/overlay.h"
#include "report/page/page.h"
#include "report/schedule/gantt.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::cli {
namespace {

namespace fs = std::filesystem;

/// Arguments of --stub.
struct StubArguments {
  answer::ReplayRequest request;  ///< without `launch`
  std::optional<std::string> output;
  bool json = false;
};

/// Format of the timeline's file.
enum class PictureFormat { chrome, svg, html };

base::Result<PictureFormat> picture_format_of(const std::string& path) {
  if (path.ends_with(".trace.json") || path.ends_with(".chrome.json")) return PictureFormat::chrome;
  if (path.ends_with(".svg")) return PictureFormat::svg;
  if (path.ends_with(".html")) return PictureFormat::html;
  return base::bad_input(fmt::format("cannot tell the format of '{}'; use .trace.json, .svg or .html", path));
}

/// Overlay of the schedule (A) and the measured times (B).
std::string content_of(const answer::ReplayAnswer& answer, PictureFormat format) {
  report::Page page =
      report::overlay_page({"schedule", planned_timeline(answer)}, {"measured", measured_timeline(answer)},
                           fmt::format("replay of {}", answer.source.name));
  if (format == PictureFormat::html) return report::render_html(page);
  timeline::Timeline timeline = std::get<report::Chart>(std::move(page.sections.front())).timeline;
  timeline.title = page.title + ": A is the schedule, B is measured";
  return format == PictureFormat::svg ? report::render_svg(timeline) : timeline::render_chrome_trace(timeline);
}

/// Replays a schedule, prints the result and writes the timeline of -o. Returns the exit code.
base::Result<int> run_stub(const StubArguments& arguments) {
  PictureFormat format = PictureFormat::chrome;
  if (arguments.output) {
    DOVETAIL_TRY(format, picture_format_of(*arguments.output));
  }
  answer::ReplayRequest request = arguments.request;
  request.launch = launch_replay;
  DOVETAIL_TRY(const answer::ReplayAnswer answer, answer_to(request, "train", {arguments.output}));
  DOVETAIL_CHECK(deliver(answer, arguments.json, {arguments.output, [&] { return content_of(answer, format); }}));
  return exit_code_of(answer.outcome);
}

struct TrainArguments {
  answer::TrainingRunRequest request;
  std::optional<std::string> output;
  bool deterministic = false;
  bool stub = false;
  answer::ReplayRequest replay;  ///< options that only --stub uses
  bool json = false;             ///< only with --stub
};

/// Rejects options of a run given with --stub, and options of --stub given without it.
base::Status check_kind(const TrainArguments& arguments) {
  const answer::TrainingRunRequest& run = arguments.request;
  const answer::ReplayRequest& replay = arguments.replay;
  const answer::ReplayRequest none;
  const std::pair<const char*, bool> of_runs[] = {{"--resume", run.resume},
                                                  {"--iterations", run.iterations.has_value()},
                                                  {"--placement", !run.placements.empty()},
                                                  {"--threads", run.threads.has_value()},
                                                  {"--device", run.device != answer::TrainingRunRequest().device},
                                                  {"--carrier", run.carrier.has_value()},
                                                  {"--collectives", run.collectives.has_value()},
                                                  {"--deterministic", arguments.deterministic}};
  const std::pair<const char*, bool> of_replays[] = {
      {"--tick", replay.tick.has_value()},
      {"--transport", replay.transport != none.transport},
      {"--message-bytes", replay.run.message_bytes != none.run.message_bytes},
      {"--json", arguments.json}};
  if (arguments.stub) {
    for (const auto& [option, given] : of_runs)
      if (given) return base::bad_input(fmt::format("{} and --stub cannot be combined", option));
  } else {
    for (const auto& [option, given] : of_replays)
      if (given) return base::bad_input(fmt::format("{} needs --stub", option));
  }
  return {};
}

StubArguments stub_of(const TrainArguments& arguments) {
  const answer::TrainingRunRequest& run = arguments.request;
  StubArguments stub{arguments.replay, arguments.output, arguments.json};
  stub.request.input = run.job;
  stub.request.run.timeout = run.timeout;
  stub.request.search = {run.plan, run.fuse, run.plan_iterations, run.time_limit};
  return stub;
}

base::Status make_folder(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return base::Error{base::Failure::io, folder, 0, 0, failed.message()};
  return {};
}

/// Replaces this process with dovetail-train. Returns only on failure.
base::Error run_program(const std::string& program, const TrainArguments& arguments,
                        const answer::TrainingRunAnswer& answer, const std::string& plan) {
  std::vector<std::string> program_arguments{program};
  if (const int ranks = cluster::device_count(answer.run.job.cluster); ranks > 1)
    program_arguments.insert(program_arguments.end(), {"launch", "--ranks", std::to_string(ranks), "--"});
  program_arguments.insert(program_arguments.end(),
                           {"run", "--job", answer.run.path, "--plan", plan, "-o", answer.folder});
  if (arguments.request.resume) program_arguments.emplace_back("--resume");
  if (arguments.deterministic) program_arguments.emplace_back("--deterministic");
  if (const auto threads = arguments.request.threads)
    program_arguments.insert(program_arguments.end(), {"--threads", std::to_string(*threads)});
  if (arguments.request.device != answer::TrainingRunRequest().device)
    program_arguments.insert(program_arguments.end(),
                             {"--device", std::string(base::enum_name(arguments.request.device))});
  if (const auto carrier = arguments.request.carrier)
    program_arguments.insert(program_arguments.end(), {"--carrier", std::string(base::enum_name(*carrier))});
  if (const auto collectives = arguments.request.collectives)
    program_arguments.insert(program_arguments.end(), {"--collectives", std::string(base::enum_name(*collectives))});
  if (const auto ranks = arguments.request.ranks)
    program_arguments.insert(program_arguments.end(), {"--ranks", std::to_string(*ranks)});
  if (const auto timeout = arguments.request.timeout)
    program_arguments.insert(program_arguments.end(), {"--timeout", fmt::format("{}s", *timeout)});
  if (answer.iterations)
    program_arguments.insert(program_arguments.end(), {"--iterations", std::to_string(*answer.iterations)});
  hold_interrupts();
  if (stop_on_interrupt().requested())
    return {base::Failure::interrupted, "", 0, 0, "interrupted before the run started"};
  return become_program(std::move(program_arguments));
}

base::Result<int> run_train(const TrainArguments& arguments) {
  DOVETAIL_CHECK(check_kind(arguments));
  if (arguments.stub) return run_stub(stub_of(arguments));
  answer::TrainingRunRequest request = arguments.request;
  request.folder = arguments.output.value_or("");
  DOVETAIL_TRY(const answer::TrainingRunAnswer answer, answer_to(request, "train"));
  DOVETAIL_CHECK(deliver(sections(answer), AnswerFile{}));
  if (answer.outcome != answer::Outcome::done) return exit_code_of(answer.outcome);
  DOVETAIL_TRY(const std::string program, find_runtime());
  const std::string plan = (fs::path(answer.folder) / control::plan_file_name).string();
  DOVETAIL_CHECK(make_folder(answer.folder));
  // A resumed run keeps its plan unless the number of ranks changes.
  if (answer.plan_path != plan) DOVETAIL_CHECK(base::write_file(plan, plan::plan_to_json(answer.plan, answer.run.job)));
  return run_program(program, arguments, answer, plan);
}

}  // namespace

void add_train(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command =
      add_command(program, "train", "train the models of a job",
                  "  dovetail train examples/train/tiny-ppo -o run\n"
                  "  dovetail train examples/train/tiny-ppo -o run --resume --iterations 140\n"
                  "  dovetail train --stub exp5 --tick 1ms -o exp5.html\n\n"
                  "The folder of -o must be new or empty; with --resume it must hold a run. With --stub,\n"
                  "JOB is a problem, a bundled instance, a schedule or a job, and -o is a file for the\n"
                  "planned and measured timelines: .html, .svg or .trace.json.");
  add_text_option(*command, "-o,--output", arguments->output, "DIR",
                  "folder of the run (default: runs/NAME for the job's name)");
  add_request(*command, arguments->request);
  add_flag(*command, "--stub", arguments->stub, "replay a schedule with ranks that wait instead of computing");
  add_request(*command, arguments->replay);
  add_json_flag(*command, arguments->json);
  add_flag(*command, "--deterministic", arguments->deterministic,
           "compute identical numbers on every run, at some cost in speed");
  set_action(*command, action, [arguments] { return run_train(*arguments); });
}

}  // namespace dovetail::cli
