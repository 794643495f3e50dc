// A process that this one starts and listens to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/ranks/rank_place.h"

namespace dovetail::runtime {

/// A process in a group of its own, without input. Its output and errors come through pipes that never hold the reader
/// up; where it keeps the errors of this process, there is no pipe for them.
struct Child {
  pid_t pid = -1;
  int output = -1;
  int errors = -1;
};

/// Whether what a child says of errors comes through a pipe, or goes where that of this process goes.
enum class ChildErrors : std::uint8_t { piped, shared };

/// Starts `command`, a program's path and its arguments, with these variables and no others. No signal is held back in
/// it.
base::Result<Child> start_child(const std::vector<std::string>& command, const Variables& variables,
                                ChildErrors errors);

/// Reads what is there of a pipe of a child and adds it to `text`. Whether there can be more; else the pipe is closed.
bool read_pipe(int& pipe, std::string& text);

/// The resident memory of a process in bytes; 0 where there is none of that id.
std::int64_t resident_bytes(pid_t pid);

/// Whether a process is there and stopped, as by SIGSTOP or a debugger.
bool is_stopped(pid_t pid);

/// The path of this program.
std::string path_of_this_program();

}  // namespace dovetail::runtime
