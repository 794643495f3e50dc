#include "control/line_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "base/document.h"
#include "base/stopwatch.h"

namespace dovetail::control {
namespace {

constexpr std::size_t max_line = std::size_t{1} << 20;
constexpr double seconds_to_end = 2;

base::Error failed_to_start(const std::vector<std::string>& command, int code) {
  return {base::Failure::io, "", 0, 0,
          fmt::format("{} cannot be run: {}", base::quote(fmt::format("{}", fmt::join(command, " "))),
                      std::strerror(code))};
}

/// Starts the command in that folder with `socket` as its standard input and output; 0 or errno.
int spawn(const std::vector<std::string>& command, const std::string& folder, int socket, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // What this program holds back or ignores of signals the command shall get.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t ignored;
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const int code = ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

}  // namespace

LineProcess::LineProcess(std::vector<std::string> command, std::string folder)
    : command_(std::move(command)), folder_(std::move(folder)) {}

LineProcess::~LineProcess() { end(); }

base::Status LineProcess::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed_to_start(command_, errno);
  socket_ = ends[0];
  ::fcntl(socket_, F_SETFL, O_NONBLOCK);
  const int code = spawn(command_, folder_, ends[1], pid_);
  ::close(ends[1]);
  if (code == 0) return {};
  pid_ = -1;
  return failed_to_start(command_, code);
}

bool LineProcess::exchange(std::vector<std::string>& lines) {
  const bool takes = write();
  const bool gives = read(lines);
  return takes && gives;
}

bool LineProcess::write() {
  while (!output_.empty()) {
    const ssize_t written = ::send(socket_, output_.data(), output_.size(), MSG_NOSIGNAL);
    if (written < 0) return errno == EAGAIN || errno == EINTR;
    output_.erase(0, static_cast<std::size_t>(written));
  }
  return true;
}

bool LineProcess::read(std::vector<std::string>& lines) {
  char block[1 << 16];
  while (true) {
    const ssize_t got = ::read(socket_, block, sizeof block);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    input_.append(block, static_cast<std::size_t>(got));
    for (std::size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
      lines.push_back(input_.substr(0, end));
      input_.erase(0, end + 1);
    }
    if (input_.size() > max_line) return false;
  }
}

std::string LineProcess::end() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  output_.clear();
  input_.clear();
  if (pid_ < 0) return "";
  int state = 0;
  const auto begin = std::chrono::steady_clock::now();
  bool asked = false;
  while (::waitpid(pid_, &state, WNOHANG) == 0) {
    const double waited = base::seconds_since(begin);
    if (waited > seconds_to_end) {
      ::kill(-pid_, SIGKILL);
    } else if (waited > seconds_to_end / 4 && !asked) {
      ::kill(-pid_, SIGTERM);
      asked = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(-pid_, SIGKILL);  // what it has started
  pid_ = -1;
  if (WIFSIGNALED(state)) return fmt::format("it was ended by signal {}", WTERMSIG(state));
  return fmt::format("it ended with exit code {}", WEXITSTATUS(state));
}

}  // namespace dovetail::control
