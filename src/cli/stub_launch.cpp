#include "cli/stub_launch.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/document.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/runtime_program.h"
#include "pipeline/formats/schedule_file.h"

namespace dovetail::cli {
namespace {

namespace fs = std::filesystem;
using base::Node;
using base::Result;
using base::Ticks;

/// A folder that is gone at the end.
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

/// Runs a program to its end, and gives its exit code. Ctrl-C is for both: the terminal sends it to both.
Result<int> exit_code_of_program(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  // What it prints is no answer of ours.
  posix_spawn_file_actions_t actions;
  int code = ::posix_spawn_file_actions_init(&actions);
  if (code != 0) return failed(words.front(), std::strerror(code));
  code = ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (code == 0) code = ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return failed(words.front(), std::strerror(code));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return failed(words.front(), std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// What becomes of the program's exit codes, which are those of this one. It has said why.
base::Status status_of(int code) {
  if (code == exit_done) return {};
  if (code == exit_interrupted || stop_on_interrupt().requested())
    return base::Error{base::Failure::interrupted, "", 0, 0, "the replay was stopped before its end"};
  const auto message = fmt::format("dovetail-train launch ended with {}; what it says of it stands above", code);
  if (code == exit_lost) return base::Error{base::Failure::lost, "", 0, 0, message};
  return base::Error{code == exit_bad_input ? base::Failure::bad_input : base::Failure::io, "", 0, 0, message};
}

Result<execute::Span> read_span(const Node& node) {
  constexpr std::int64_t max_time = base::max_time;
  if (!node.is_list() || node.size() != 2) return node.error("this is no interval; accepted: [begin, end] in ns");
  DOVETAIL_TRY(const std::int64_t begin, base::read_whole(node.item(0), "a begin", -max_time, max_time));
  DOVETAIL_TRY(const std::int64_t end, base::read_whole(node.item(1), "an end", begin, max_time));
  return execute::Span{Ticks(begin), Ticks(end)};
}

/// A trace: [rank][instruction] [begin, end].
Result<execute::ReplayTimes> read_times(const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
  execute::ReplayTimes times;
  const Node root = document.root();
  if (!root.is_list()) return root.error("this is no trace; accepted: a list with a list of intervals for each rank");
  for (std::size_t rank = 0; rank < root.size(); ++rank) {
    const Node row = root.item(rank);
    if (!row.is_list()) return row.error("this is no rank; accepted: a list of intervals");
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
  std::vector<std::string> words{program,   "launch",  "--ranks",         std::to_string(schedule.problem.devices),
                                 "--",      "stub",    "--schedule",      schedule_file,
                                 "--tick",  "1ns",     "--message-bytes", std::to_string(run.message_bytes),
                                 "--trace", trace_file};
  // A wait may be as long as the schedule.
  const double seconds = base::seconds_of_ticks(schedule.claims.makespan.value()) + run.timeout.value_or(60);
  words.insert(words.end(), {"--timeout", fmt::format("{:.3f}s", seconds)});
  DOVETAIL_TRY(const int code, exit_code_of_program(std::move(words)));
  DOVETAIL_CHECK(status_of(code));
  return read_times(trace_file);
}

}  // namespace dovetail::cli
