// `--mpi`: distributes a search over the processes started by mpirun. Only the first one prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/commands.h"
#include "parallel/exchange.h"

namespace dovetail::cli {

/// Values of the MPI options.
struct MpiArguments {
  bool enabled = false;
  std::optional<double> timeout_seconds;
};

/// Adds --mpi and --mpi-timeout.
void add_mpi_options(CLI::App& command, MpiArguments& arguments);

/// Whether another process reports the errors of this command line: --mpi is given, and the launcher's environment
/// variables show that this is not the first process. For use before there is an Exchange. For errors in input files,
/// see agree_on_input.
bool is_nonzero_rank(int argument_count, const char* const* arguments);

/// Connects to the other processes if --mpi is given. Afterwards only the first process prints (output.h).
base::Result<std::optional<parallel::Exchange>> connect_processes(const MpiArguments& arguments);

/// Gives the first process time to write its best answer. Call this before exiting because another process was lost:
/// the exit ends the whole MPI job.
void wait_for_the_first(const parallel::Exchange& exchange);

}  // namespace dovetail::cli
