#include "cli/run_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/assert.h"

namespace dovetail::cli {
namespace {

/// In the child: all three streams are files, so that no pipe can fill up.
[[noreturn]] void become(const std::vector<std::string>& command, const RunOptions& options,
                         const TemporaryFolder& folder) {
  const int in = open(folder.file("in").c_str(), O_RDONLY);
  const int out = open(folder.file("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = open(folder.file("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const std::string& variable : options.environment) putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

ProgramResult run_other(const std::vector<std::string>& command, const RunOptions& options) {
  const TemporaryFolder folder;
  folder.write("in", options.input);
  const pid_t child = fork();
  DOVETAIL_ASSERT(child >= 0);
  if (child == 0) become(command, options, folder);
  if (options.interrupt_after) {
    std::this_thread::sleep_for(*options.interrupt_after);
    kill(child, SIGINT);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return {code, content_of(folder.file("out")), content_of(folder.file("err"))};
}

ProgramResult run_program(const std::vector<std::string>& arguments, const RunOptions& options) {
  std::vector<std::string> command{DOVETAIL_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_other(command, options);
}

std::string repository_file(const std::string& path) {
  return (std::filesystem::path(DOVETAIL_SOURCE_DIR) / path).string();
}

const char* const small_problem =
    "format: dovetail/pipeline-problem@1\n"
    "time_unit: tick\n"
    "devices: 2\n"
    "models:\n"
    "  - name: actor\n"
    "    microbatches: 2\n"
    "    devices: [0, 1]\n"
    "    forward: 1\n"
    "    backward: 2\n"
    "    activation: 1.5\n";

}  // namespace dovetail::cli
