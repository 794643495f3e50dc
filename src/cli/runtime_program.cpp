#include "cli/runtime_program.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/version.h"
#include "pipeline/formats/schedule_file.h"

namespace dovetail::cli {

namespace fs = std::filesystem;

base::Result<std::string> find_runtime() {
  constexpr std::string_view name = "dovetail-train";
  std::error_code none;
  std::vector<fs::path> folders{fs::read_symlink("/proc/self/exe", none).parent_path()};
  const char* const path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const fs::path& folder : folders)
    if (const fs::path file = folder / name; fs::is_regular_file(file, none) && access(file.c_str(), X_OK) == 0)
      return file.string();
  return base::bad_input(
      fmt::format("cannot find dovetail-train, the program that runs jobs, next to this program or on the PATH; "
                  "install {} and rebuild Dovetail",
                  runtime_packages));
}

base::Error become_program(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);
  execv(arguments.front().c_str(), pointers.data());
  return {base::Failure::io, arguments.front(), 0, 0, std::strerror(errno)};
}

namespace {

using base::Node;
using base::Result;
using base::Ticks;

/// Temporary folder that is removed on destruction.
class WorkFolder {
 public:
  WorkFolder() {
    std::error_code none;
    std::string name = (fs::temp_directory_path(none) / "dovetail-stub-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~WorkFolder() {
    std::error_code none;
    if (!path_.empty()) fs::remove_all(path_, none);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  bool is_there() const { return !path_.empty(); }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

base::Error failed(const std::string& program, const char* why) { return {base::Failure::io, program, 0, 0, why}; }

/// Runs a program and returns its exit code. The terminal sends Ctrl-C to both processes.
Result<int> exit_code_of_program(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = -1;
  // The child's stdout goes to stderr, because this program's stdout carries the answer.
  posix_spawn_file_actions_t actions;
  int code = ::posix_spawn_file_actions_init(&actions);
  if (code != 0) return failed(arguments.front(), std::strerror(code));
  code = ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (code == 0) code = ::posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return failed(arguments.front(), std::strerror(code));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return failed(arguments.front(), std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Converts the exit code of dovetail-train, which uses the codes of ExitCode, to a Status. The program has already
/// printed the reason.
base::Status status_of(int code) {
  if (code == exit_done) return {};
  if (code == exit_interrupted || stop_on_interrupt().requested())
    return base::Error{base::Failure::interrupted, "", 0, 0, "the replay was interrupted before it finished"};
  const auto message = fmt::format("dovetail-train launch exited with code {}; see its message above", code);
  if (code == exit_lost) return base::Error{base::Failure::lost, "", 0, 0, message};
  return base::Error{code == exit_bad_input ? base::Failure::bad_input : base::Failure::io, "", 0, 0, message};
}

Result<execute::Span> read_span(const Node& node) {
  constexpr std::int64_t max_time = base::max_time;
  if (!node.is_list() || node.size() != 2) return node.error("not an interval; expected [begin, end] in ns");
  DOVETAIL_TRY(const std::int64_t begin, base::read_integer(node.item(0), "a begin", -max_time, max_time));
  DOVETAIL_TRY(const std::int64_t end, base::read_integer(node.item(1), "an end", begin, max_time));
  return execute::Span{Ticks(begin), Ticks(end)};
}

/// Reads a trace: [rank][instruction] [begin, end].
Result<execute::ReplayTimes> read_times(const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
  execute::ReplayTimes times;
  const Node root = document.root();
  if (!root.is_list()) return root.error("not a trace; expected a list with one list of intervals per rank");
  for (std::size_t rank = 0; rank < root.size(); ++rank) {
    const Node row = root.item(rank);
    if (!row.is_list()) return row.error("expected a list of intervals for each rank");
    auto& spans = times.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      DOVETAIL_TRY(const execute::Span span, read_span(row.item(i)));
      spans.push_back(span);
    }
  }
  return times;
}

}  // namespace

Result<execute::ReplayTimes> launch_replay(const pipeline::Schedule& schedule, const answer::ReplayRun& run) {
  DOVETAIL_TRY(const std::string program, find_runtime());
  const WorkFolder folder;
  if (!folder.is_there()) return failed(fs::temp_directory_path().string(), std::strerror(errno));
  const std::string schedule_file = folder.file("schedule.json");
  const std::string trace_file = folder.file("trace.json");
  DOVETAIL_CHECK(base::write_file(schedule_file, pipeline::schedule_to_json(schedule)));
  std::vector<std::string> arguments{program,   "launch",  "--ranks",         std::to_string(schedule.problem.devices),
                                     "--",      "stub",    "--schedule",      schedule_file,
                                     "--tick",  "1ns",     "--message-bytes", std::to_string(run.message_bytes),
                                     "--trace", trace_file};
  // In a valid schedule, a rank may wait for as long as the whole schedule takes.
  const double seconds = base::seconds_of_ticks(schedule.claims.makespan.value()) + run.timeout.value_or(60);
  arguments.insert(arguments.end(), {"--timeout", fmt::format("{:.3f}s", seconds)});
  DOVETAIL_TRY(const int code, exit_code_of_program(std::move(arguments)));
  DOVETAIL_CHECK(status_of(code));
  return read_times(trace_file);
}

}  // namespace dovetail::cli
