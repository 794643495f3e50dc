// `--mpi`: distributes a search over the processes started by mpirun. Only the first process prints.
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
  std::optional<double> timeout_seconds;  ///< time after which a process counts as lost; nullopt: 60 s
};

/// Adds --mpi and --mpi-timeout.
void add_mpi_options(CLI::App& command, MpiArguments& arguments);

/// Whether another process reports the errors of this command line: --mpi is given, and the launcher's environment
/// variables show that this is not the first process. Call this before there is an Exchange. Errors in input files are
/// reported by parallel::agree_on_input.
bool is_nonzero_rank(int argument_count, const char* const* arguments);

/// Connects to the other processes and returns the Exchange with them; nullopt without --mpi. Afterwards only the first
/// process prints (output.h).
base::Result<std::optional<parallel::Exchange>> connect_processes(const MpiArguments& arguments);

/// In every process except the first one, sleeps for 10 s, so that the first one can write its best answer. If another
/// process was lost, call this before exiting: the exit ends the whole MPI job.
void wait_for_the_first(const parallel::Exchange& exchange);

}  // namespace dovetail::cli
