// dovetail-train launch: runs the ranks of a job as processes on this machine.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/ranks/rank_place.h"

namespace dovetail::runtime {

/// Process in a separate process group, without standard input. `output` and `errors` are the non-blocking read ends of
/// pipes for its standard output and standard error. `errors` is -1 if the child writes to this process's standard
/// error.
struct Child {
  pid_t pid = -1;
  int output = -1;
  int errors = -1;
};

/// Destination of a child's standard error: a pipe, or this process's standard error.
enum class ChildErrors : std::uint8_t { piped, shared };

/// Starts `command`, a program path and its arguments, with exactly these environment variables and no blocked signals.
base::Result<Child> start_child(const std::vector<std::string>& command, const Variables& variables,
                                ChildErrors errors);

/// Appends the available output of a child's pipe to `text`. At the end of the output, closes the pipe and returns
/// false.
bool read_pipe(int& pipe, std::string& text);

/// Returns the resident memory of a process in bytes, or 0 if the process does not exist.
std::int64_t resident_bytes(pid_t pid);

/// Whether a process exists and is stopped, for example by SIGSTOP or a debugger.
bool is_stopped(pid_t pid);

/// Returns the path of this program.
std::string path_of_this_program();

struct LaunchArguments {
  int ranks = 1;
  std::vector<std::string> command;  ///< subcommand of this program that the ranks run, with its arguments
  /// Maximum time without a heartbeat from a rank.
  std::chrono::steady_clock::duration timeout = std::chrono::minutes(10);
};

/// Runs the job's store, starts the ranks and waits until all have ended. Copies the standard output of rank 0
/// unchanged. Prefixes the output lines of other ranks and the error lines of all ranks with the rank. If standard
/// error is a terminal, rank 0 writes to it directly, without a prefix, to show a progress line.
///
/// When a rank fails, all others get SIGTERM, and SIGKILL after five seconds. The first SIGINT, SIGTERM or SIGHUP is
/// forwarded to all ranks; a second one kills them. When a rank ends, the processes left in its process group are
/// killed. If this process is killed, so are all ranks.
///
/// The Error says that the run was interrupted, or describes the first rank that failed: its reported error, its exit
/// code, the signal that killed it (for SIGKILL, with its resident memory and the plan's prediction), or its missing
/// heartbeats. An Error about a lost rank begins with the phase of the rank that is lost or that reported the loss.
base::Status launch(const LaunchArguments& arguments);

}  // namespace dovetail::runtime
