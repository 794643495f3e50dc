// dovetail profile: checks a job's models and measures them with dovetail-train.
#include <fmt/core.h>

#include <concepts>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/runs/training_run.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/question_progress.h"
#include "cli/runtime_program.h"
#include "control/run/run_checks.h"

namespace dovetail::cli {
namespace {

struct ProfileOptions {
  answer::Input job;
  std::optional<int> ranks = std::nullopt;    ///< nullopt: the job's devices
  std::optional<int> threads = std::nullopt;  ///< nullopt: one
};
template <std::same_as<ProfileOptions> T>
auto options_of(const T*) {
  using answer::option, answer::Count, answer::File;
  return answer::options<T>(
      option("JOB", &T::job, File{}, "job file with a `train` section, or a folder with job.yaml"),
      option("ranks", &T::ranks, Count{1, 1024}, "number of ranks to measure on (default: the job's devices)"),
      option("threads", &T::threads, Count{1, 1024}, "threads per rank (default: 1)"));
}

struct ProfileArguments {
  ProfileOptions options;
  std::optional<std::string> output;
};

base::Result<int> run_profile(const ProfileArguments& arguments) {
  const std::string output = arguments.output.value_or("profile.json");
  if (is_standard_output(output))
    return base::bad_input("-o must be a file, because the summary goes to standard output");
  DOVETAIL_TRY(const control::RunJob run, answer::read_run_job(arguments.options.job, std::nullopt));
  const auto models = control::open_models(run);
  if (!models.ok()) return models.error();
  DOVETAIL_CHECK(check_output_path(output));
  // The output may overwrite an earlier profile that the job names.
  if (std::error_code none; std::filesystem::equivalent(output, run.path, none)) DOVETAIL_CHECK(check_no_input(output));
  DOVETAIL_TRY(std::string program, find_runtime());
  const int ranks = arguments.options.ranks.value_or(cluster::device_count(run.job.cluster));
  std::vector<std::string> program_arguments{std::move(program)};
  if (ranks > 1) program_arguments.insert(program_arguments.end(), {"launch", "--ranks", std::to_string(ranks), "--"});
  program_arguments.insert(program_arguments.end(), {"profile", "--job", run.path, "-o", output, "--threads",
                                                     std::to_string(arguments.options.threads.value_or(1))});
  return become_program(std::move(program_arguments));
}

}  // namespace

void add_profile(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App* command = add_command(program, "profile", "measure a job's models on this machine",
                                  "  dovetail profile examples/train/tiny-sft -o profile.json\n"
                                  "  dovetail profile examples/train/tiny-sft --ranks 2 -o profile.json\n\n"
                                  "A job uses the profile as `software: {profile: FILE}` and as `cluster: FILE`.");
  add_request(*command, arguments->options);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "dovetail/profile@2 file to write (default: profile.json)");
  set_action(*command, action, [arguments] { return run_profile(*arguments); });
}

}  // namespace dovetail::cli
