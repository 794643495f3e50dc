// A program of the user's that lines are sent to and come from.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::control {

/// A process whose standard input and output are ours; its standard error is this program's. It has a process group of
/// its own: Ctrl-C is for this program, which ends it.
class LineProcess {
 public:
  /// `command`: a program, found on the PATH, and its arguments. It runs in `folder`; in this program's where that is
  /// empty.
  explicit LineProcess(std::vector<std::string> command, std::string folder = {});
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;
  /// Ends it.
  ~LineProcess();

  /// Starts it, also anew after end(). A Failure::io Error where the command cannot be run.
  base::Status start();

  /// Queues a line, which ends with a line end; exchange() sends it.
  void send(std::string_view line) { output_ += line; }
  bool has_output() const { return !output_.empty(); }
  /// To poll.
  int socket() const { return socket_; }

  /// Sends what it takes now, reads what is there now, and adds whole lines, without their ends. Whether it is still
  /// there; one whose line is longer than 1 MiB counts as gone. Never waits.
  bool exchange(std::vector<std::string>& lines);

  /// Ends it with all that it has started: by the end of its input, and where that does not help in two seconds by
  /// signals. Says how it ended; nothing where it does not run.
  std::string end();

 private:
  bool write();
  bool read(std::vector<std::string>& lines);

  std::vector<std::string> command_;
  std::string folder_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string output_;
  std::string input_;
};

}  // namespace dovetail::control
