// Groups of processes that share the chains of a search and exchange their results as messages.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::parallel {

/// A group of processes that exchange messages. Every process must call all_gather the same number of times. A program
/// with its own transport sets the members itself, for example if it uses MPI or runs its ranks as threads.
struct Exchange {
  int rank = 0;
  int ranks = 1;
  /// Gathers the messages of all processes, in rank order, on every process. Returns an Error if a process is lost or
  /// does not respond in time; every later call returns the same Error.
  std::function<base::Result<std::vector<std::string>>(std::string_view message)> all_gather;
};

/// Connects the processes that `mpirun` or `srun` started together. A process that was started alone is a group of one.
/// Only this function loads MPI. The first call with a valid timeout connects; later ones return its result.
///
/// `timeout_seconds` limits every wait for other processes. It must exceed the time that a process spends between two
/// calls of all_gather, and between the last call and its exit.
///
/// Returns a bad_input Error with a remedy if MPI or Dovetail's module for it is missing, if the module belongs to
/// another version of Dovetail, or if the launcher and the module use different MPI libraries; also if the timeout is
/// not above 0. Returns Failure::lost if MPI fails to connect, for example because another process is gone.
///
/// MPI is finalized at program exit. After a Failure::lost Error, it is aborted instead, which ends the other
/// processes.
base::Result<Exchange> connect_by_mpi(double timeout_seconds);

/// Returns the path of Dovetail's MPI module; nullopt if it is missing. Searches the directories in the environment
/// variable DOVETAIL_MODULE_PATH (separated by colons), then a directory relative to the program's (../lib/dovetail by
/// default), then the module directory of this build's installation.
std::optional<std::string> find_mpi_module();

/// Whether the module was built together with this library.
bool mpi_module_was_built();

/// Checks that all processes have read the same `input`. If a rank's input is an Error, every process returns the Error
/// of the first such rank, prefixed with "rank N: "; rank 0 returns its own Error without a prefix. Otherwise, if a
/// rank's input differs from rank 0's, every process returns an Error about the first such rank. `another` completes
/// the message "rank 1 reads ... than rank 0", for example with "a different problem".
base::Status agree_on_input(const Exchange& exchange, const base::Result<std::string>& input, std::string_view another);

/// Appends `value` to the message: eight bytes in the machine's byte order.
void put(std::string& message, std::int64_t value);

/// Removes the value at the beginning of the message and returns it. REQUIRES: the message begins with a value that
/// `put` appended on a machine with the same byte order.
std::int64_t take(std::string_view& message);

}  // namespace dovetail::parallel
