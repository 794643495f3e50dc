#include "runtime/launch/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace dovetail::runtime {
namespace {

/// Both ends of two pipes; those that are left are closed at the end of the scope.
struct Pipes {
  int output[2] = {-1, -1};
  int errors[2] = {-1, -1};

  bool open() {
    return ::pipe2(output, O_CLOEXEC) == 0 && ::pipe2(errors, O_CLOEXEC) == 0 &&
           ::fcntl(output[0], F_SETFL, O_NONBLOCK) == 0 && ::fcntl(errors[0], F_SETFL, O_NONBLOCK) == 0;
  }
  ~Pipes() {
    for (const int end : {output[0], output[1], errors[0], errors[1]})
      if (end >= 0) ::close(end);
  }
};

/// Pointers to texts, as exec wants them.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// 0 or errno.
int spawn_child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                const Pipes& pipes, ChildErrors errors, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipes.output[1], STDOUT_FILENO);
  if (errors == ChildErrors::piped) posix_spawn_file_actions_adddup2(&actions, pipes.errors[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int code = ::posix_spawn(&pid, command.front().c_str(), &actions, &attributes, pointers_to(command).data(),
                                 pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

}  // namespace

base::Result<Child> start_child(const std::vector<std::string>& command, const Variables& variables,
                                ChildErrors errors) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(fmt::format("{}={}", name, value));
  Pipes pipes;
  Child child;
  const int code = pipes.open() ? spawn_child(command, environment, pipes, errors, child.pid) : errno;
  if (code != 0)
    return base::Error{base::Failure::io, command.front(), 0, 0,
                       fmt::format("it cannot be started: {}", std::strerror(code))};
  child.output = std::exchange(pipes.output[0], -1);
  if (errors == ChildErrors::piped) child.errors = std::exchange(pipes.errors[0], -1);
  return child;
}

bool read_pipe(int& pipe, std::string& text) {
  char block[1 << 16];
  while (true) {
    const ssize_t got = ::read(pipe, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  ::close(std::exchange(pipe, -1));
  return false;
}

std::int64_t resident_bytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  std::int64_t all = 0;
  std::int64_t resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

bool is_stopped(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  // "17 (name) T ...": names may have parentheses, too.
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && (text[name_end + 2] == 'T' || text[name_end + 2] == 't');
}

std::string path_of_this_program() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).string();
}

}  // namespace dovetail::runtime
