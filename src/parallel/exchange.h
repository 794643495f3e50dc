// Processes that share out the chains of a search and tell each other what they found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::parallel {

/// A group of processes. Every process calls the same functions in the same order. A program that has a transport of
/// its own (it uses MPI itself, or runs its ranks as threads) fills this in by hand.
struct Exchange {
  int rank = 0;
  int ranks = 1;
  /// Gives every process the messages of all, in order of rank. An Error where a process is lost or does not answer in
  /// time; from then on every call is that Error.
  std::function<base::Result<std::vector<std::string>>(std::string_view message)> all_gather;
};

/// The group of the processes that `mpirun` (or `srun`) started together; a process that was started alone is a group
/// of one. MPI is loaded here, and only here. `timeout_seconds`: how long anything waits for the other processes; it
/// has to be longer than what a process does between two calls of all_gather, and between the last one and its end.
/// Once a process in a program: later calls give the same group.
///
/// An Error (bad_input) where MPI or our module for it cannot be found, which says which package to install, or where
/// the launcher belongs to another MPI; an Error (lost) where a process is lost already.
///
/// MPI is finalized when the program exits. After an Error it is aborted instead, which ends the other processes too.
base::Result<Exchange> connect_by_mpi(double timeout_seconds);

/// Where connect_by_mpi finds our module for MPI: in a folder that the environment variable DOVETAIL_MODULE_PATH lists
/// (separated by colons), else beside the program (its folder's ../lib/dovetail), else where this build is installed.
/// Nothing where it is in none.
std::optional<std::string> find_mpi_module();

/// Whether the module was built together with this library.
bool mpi_module_was_built();

/// Whether all processes have read the same `input`. Where not it is the same Error in all: that of the first process
/// that has one, with its rank, or that it reads another one than the first; `another` says of what: "another problem".
base::Status agree_on_input(const Exchange& exchange, const base::Result<std::string>& input, std::string_view another);

/// Puts `value` behind what the message has.
void put(std::string& message, std::int64_t value);

/// The value at the beginning of the message, which has the rest from then on. REQUIRES: there is one: messages come
/// from the same program.
std::int64_t take(std::string_view& message);

}  // namespace dovetail::parallel
