// dovetail profile: checks a job's models, and lets dovetail-train measure them.
#include <fmt/format.h>

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
#include "cli/asking.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/runtime_program.h"
#include "control/run/run_checks.h"

namespace dovetail::cli {
namespace {

struct ProfileOptions {
  answer::Input job;
  std::optional<int> ranks = std::nullopt;    ///< nothing: the job's devices
  std::optional<int> threads = std::nullopt;  ///< nothing: one
};
template <std::same_as<ProfileOptions> T>
auto options_of(const T*) {
  using answer::option, answer::Count, answer::File;
  return answer::options<T>(
      option("JOB", &T::job, File{}, "job file with a section `train`, or a folder with a job.yaml"),
      option("ranks", &T::ranks, Count{1, 1024}, "measure on so many ranks at once (default: the job's devices)"),
      option("threads", &T::threads, Count{1, 1024}, "threads of each rank (default: 1)"));
}

struct ProfileArguments {
  ProfileOptions options;
  std::optional<std::string> output;
};

base::Result<int> run_profile(const ProfileArguments& arguments) {
  const std::string output = arguments.output.value_or("profile.json");
  if (is_standard_output(output))
    return base::bad_input("-o is standard output, where the summary goes; accepted: a file");
  DOVETAIL_TRY(const control::RunJob run, answer::read_run_job(arguments.options.job, std::nullopt));
  const auto models = control::open_models(run);
  if (!models.ok()) return models.error();
  DOVETAIL_CHECK(check_output_path(output));
  // What the job takes from an earlier profile may be measured anew in its place.
  if (std::error_code none; std::filesystem::equivalent(output, run.path, none)) DOVETAIL_CHECK(check_no_input(output));
  DOVETAIL_TRY(std::string program, find_runtime());
  const int ranks = arguments.options.ranks.value_or(cluster::device_count(run.job.cluster));
  std::vector<std::string> words{std::move(program)};
  if (ranks > 1) words.insert(words.end(), {"launch", "--ranks", std::to_string(ranks), "--"});
  words.insert(words.end(), {"profile", "--job", run.path, "-o", output, "--threads",
                             std::to_string(arguments.options.threads.value_or(1))});
  return become_program(std::move(words));
}

}  // namespace

void add_profile(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App* command = add_command(program, "profile", "measure what a job's models take on this machine",
                                  "  dovetail profile job.yaml -o here.json\n"
                                  "  dovetail profile job.yaml --ranks 4 -o here.json");
  add_request(*command, arguments->options);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "the dovetail/profile@2 file (default: profile.json): a job takes it as `software: {profile: FILE}` "
                  "and as `cluster: FILE`");
  set_action(*command, action, [arguments] { return run_profile(*arguments); });
}

}  // namespace dovetail::cli
