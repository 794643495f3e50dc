// dovetail train: checks all that a run reads, plans it, and hands it to dovetail-train, which has the tensors.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/runs/training_run.h"
#include "base/file.h"
#include "cli/asking.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/runtime_program.h"
#include "cli/stub.h"
#include "cluster/cluster.h"
#include "plan/plan_file.h"

namespace dovetail::cli {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  answer::TrainingRunRequest request;
  std::optional<std::string> output;
  bool deterministic = false;
  bool stub = false;
  answer::ReplayRequest replay;  ///< of --stub: its own options
  bool json = false;             ///< likewise
};

/// What only one of a run and a replay has, an Error where it is given to the other.
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
      if (given)
        return base::bad_input(fmt::format("{} is of a run, and --stub only waits; accepted: one of both", option));
  } else {
    for (const auto& [option, given] : of_replays)
      if (given) return base::bad_input(fmt::format("{} is of a replay; accepted: with --stub", option));
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

/// Becomes the program that runs; only an Error comes back.
base::Error run_program(const std::string& program, const TrainArguments& arguments,
                        const answer::TrainingRunAnswer& answer, const std::string& plan) {
  std::vector<std::string> words{program};
  if (const int ranks = cluster::device_count(answer.run.job.cluster); ranks > 1)
    words.insert(words.end(), {"launch", "--ranks", std::to_string(ranks), "--"});
  words.insert(words.end(), {"run", "--job", answer.run.path, "--plan", plan, "-o", answer.folder});
  if (arguments.request.resume) words.emplace_back("--resume");
  if (arguments.deterministic) words.emplace_back("--deterministic");
  if (const auto threads = arguments.request.threads)
    words.insert(words.end(), {"--threads", std::to_string(*threads)});
  if (arguments.request.device != answer::TrainingRunRequest().device)
    words.insert(words.end(), {"--device", std::string(base::enum_name(arguments.request.device))});
  if (const auto carrier = arguments.request.carrier)
    words.insert(words.end(), {"--carrier", std::string(base::enum_name(*carrier))});
  if (const auto collectives = arguments.request.collectives)
    words.insert(words.end(), {"--collectives", std::string(base::enum_name(*collectives))});
  if (const auto ranks = arguments.request.ranks) words.insert(words.end(), {"--ranks", std::to_string(*ranks)});
  if (const auto timeout = arguments.request.timeout)
    words.insert(words.end(), {"--timeout", fmt::format("{}s", *timeout)});
  if (answer.iterations) words.insert(words.end(), {"--iterations", std::to_string(*answer.iterations)});
  hold_interrupts();
  if (stop_on_interrupt().requested())
    return {base::Failure::interrupted, "", 0, 0, "the run was interrupted before it began"};
  return become_program(std::move(words));
}

base::Result<int> run_train(const TrainArguments& arguments) {
  DOVETAIL_CHECK(check_kind(arguments));
  if (arguments.stub) return run_stub(stub_of(arguments));
  answer::TrainingRunRequest request = arguments.request;
  request.folder = arguments.output.value_or("");
  DOVETAIL_TRY(const answer::TrainingRunAnswer answer, ask(request, "train"));
  DOVETAIL_CHECK(deliver(sections(answer), AnswerFile{}));
  if (answer.outcome != answer::Outcome::done) return exit_code_of(answer.outcome);
  DOVETAIL_TRY(const std::string program, find_runtime());
  const std::string plan = (fs::path(answer.folder) / control::plan_file_name).string();
  DOVETAIL_CHECK(make_folder(answer.folder));
  // A run that goes on keeps the plan that it has, but for one of another number of ranks.
  if (answer.plan_path != plan) DOVETAIL_CHECK(base::write_file(plan, plan::plan_to_json(answer.plan, answer.run.job)));
  return run_program(program, arguments, answer, plan);
}

}  // namespace

void add_train(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = add_command(program, "train", "train the models of a job: check its input, plan it, run it",
                                  "  dovetail train job.yaml -o run\n"
                                  "  dovetail train job.yaml -o run --resume --iterations 200\n"
                                  "  dovetail train --stub exp5 --tick 20ms -o exp5.html");
  add_text_option(*command, "-o,--output", arguments->output, "DIR",
                  "folder of the run: new, empty, or with --resume one of a run (default: runs/NAME of the job); with "
                  "--stub a file for the schedule beside what was measured: .html, .svg, .trace.json");
  add_request(*command, arguments->request);
  add_flag(*command, "--stub", arguments->stub,
           "replay a schedule: JOB is a problem, a bundled instance, a schedule or a job, whose ops wait in place of "
           "computing on ranks that exchange messages");
  add_request(*command, arguments->replay);
  add_json_flag(*command, arguments->json);
  add_flag(*command, "--deterministic", arguments->deterministic,
           "the same numbers on every run, where the libraries would else be faster");
  set_action(*command, action, [arguments] { return run_train(*arguments); });
}

}  // namespace dovetail::cli
