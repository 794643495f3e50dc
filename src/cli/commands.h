// The subcommands and their exit codes.
//
// CLI11's headers take longer to compile than all headers of Dovetail together. Only the files that define, parse or
// print the command line include them.
#pragma once

#include <functional>

#include "base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace dovetail::cli {

/// Runs a subcommand whose arguments have been parsed. Returns the exit code, or the Error to print.
using Action = std::function<base::Result<int>()>;

/// Exit codes of the program. base::Failure documents the code of each kind of failure.
enum ExitCode : int {
  exit_done = 0,          ///< success
  exit_invalid = 1,       ///< a check failed, or a file could not be read or written
  exit_bad_input = 2,     ///< an argument or a file is wrong
  exit_infeasible = 3,    ///< no answer within the limits on memory and time
  exit_lost = 4,          ///< another process or rank was lost
  exit_interrupted = 130  ///< stopped by a signal; the answer, if any, is the best so far
};

// Each function adds one subcommand to `program`, and sets `action` if the command line selects it.
void add_schedule(CLI::App& program, Action& action);
void add_compare(CLI::App& program, Action& action);
void add_check(CLI::App& program, Action& action);
void add_diff(CLI::App& program, Action& action);
void add_bounds(CLI::App& program, Action& action);
void add_convert(CLI::App& program, Action& action);
void add_show(CLI::App& program, Action& action);
void add_report(CLI::App& program, Action& action);
void add_problem(CLI::App& program, Action& action);
void add_fuse_layouts(CLI::App& program, Action& action);
void add_import(CLI::App& program, Action& action);
void add_export(CLI::App& program, Action& action);
void add_plan(CLI::App& program, Action& action);
void add_fit(CLI::App& program, Action& action);
void add_explain(CLI::App& program, Action& action);
void add_simulate(CLI::App& program, Action& action);
void add_profile(CLI::App& program, Action& action);
void add_train(CLI::App& program, Action& action);
void add_sweep(CLI::App& program, Action& action);
void add_what_if(CLI::App& program, Action& action);
void add_forecast(CLI::App& program, Action& action);
void add_calibrate(CLI::App& program, Action& action);
void add_measured(CLI::App& program, Action& action);
void add_instances(CLI::App& program, Action& action);
/// Add this subcommand last: it completes the subcommands that `program` already has.
void add_completion(CLI::App& program, Action& action);

}  // namespace dovetail::cli
