// `--mpi`: the processes that mpirun started share a search out; the first of them speaks for all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command_line.h"
#include "parallel/exchange.h"

namespace dovetail::cli {

/// What the options say.
struct MpiArguments {
  bool asked = false;
  std::optional<double> timeout_seconds;
};

/// Adds --mpi and --mpi-timeout.
void add_mpi_options(CLI::App& command, MpiArguments& arguments);

/// Whether another process says what is wrong with this command line: it asks for MPI, and by the variables of the
/// launcher this is not the first process. To be asked before there is an Exchange; what each process reads by itself
/// is another matter (agree_on_input).
bool another_process_speaks(int argument_count, const char* const* arguments);

/// Connects to the other processes where that is asked for. From then on only the first of them prints anything
/// (output.h).
base::Result<std::optional<parallel::Exchange>> connect_processes(const MpiArguments& arguments);

/// To be called before this process ends because another one is lost: leaves the first one time to write what was
/// found, before the end of this process ends the job.
void wait_for_the_first(const parallel::Exchange& exchange);

}  // namespace dovetail::cli
