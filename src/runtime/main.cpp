// dovetail-train: runs what `dovetail train` has checked and planned.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <new>
#include <string>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "runtime/run/run_command.h"

namespace dovetail::runtime {
namespace {

int run(int count, char** arguments) {
  CLI::App program("Runs a plan on this machine. `dovetail train` checks a job, plans, and starts this.");
  program.name("dovetail-train");
  program.require_subcommand(1);
  RunArguments given;
  CLI::App* const command = program.add_subcommand("run", "train on one rank");
  command->add_option("--job", given.job, "the job, a file or a folder")->required();
  command->add_option("--plan", given.plan, "its plan, a dovetail/plan@1 file")->required();
  command->add_option("-o,--output", given.output, "the folder of the run")->required();
  command->add_flag("--resume", given.resume, "go on with the run in that folder");
  command->add_option("--iterations", given.iterations, "of the run, in place of what the job says");
  command->add_flag("--deterministic", given.deterministic, "the same numbers on every run: one thread");
  command->add_option("--threads", given.threads, "to compute with")->check(CLI::Range(1, 1024))->capture_default_str();
  try {
    program.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    const int code = program.exit(error);
    return code == 0 ? 0 : cli::exit_bad_input;
  }
  const base::Status status = run_training(given);
  return status.ok() ? cli::exit_done : cli::report_failure(status.error(), "dovetail-train");
}

}  // namespace
}  // namespace dovetail::runtime

int main(int count, char** arguments) {
  try {
    return dovetail::runtime::run(count, arguments);
  } catch (const std::bad_alloc&) {
    dovetail::cli::print_error("dovetail-train: there is not enough memory\n");
    return EXIT_FAILURE;
  }
}
