#include "control/reward_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/document.h"
#include "base/fields.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "base/utf8.h"

namespace dovetail::control {

/// Child process that exchanges lines over its standard input and output. It shares this program's standard error. It
/// has its own process group, so that Ctrl-C reaches only this program, which ends it.
class LineProcess {
 public:
  /// `command` is a program, found on the PATH, and its arguments. It runs in `folder`, or in the current directory if
  /// that is empty.
  explicit LineProcess(std::vector<std::string> command, std::string folder = {});
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;
  /// Ends the process.
  ~LineProcess();

  /// Starts the process, also again after end(). Returns a Failure::io Error if the command cannot be run.
  base::Status start();

  /// Queues a line, including its line end. exchange() sends it.
  void send(std::string_view line) { output_ += line; }
  bool has_output() const { return !output_.empty(); }
  /// Socket to poll.
  int socket() const { return socket_; }

  /// Sends and reads as much as possible without waiting. Appends complete lines, without line ends, to `lines`.
  /// Returns whether the process is alive; it counts as ended if a line exceeds 1 MiB.
  bool exchange(std::vector<std::string>& lines);

  /// Ends the process and its descendants: by closing its input, and by signals after up to two seconds. Returns how it
  /// ended, or an empty string if it was not running.
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

namespace {

constexpr std::size_t max_line = std::size_t{1} << 20;
constexpr double seconds_to_end = 2;

base::Error failed_to_start(const std::vector<std::string>& command, int code) {
  return {base::Failure::io, "", 0, 0,
          fmt::format("{} cannot be run: {}", base::quote(fmt::format("{}", fmt::join(command, " "))),
                      std::strerror(code))};
}

/// Starts the command in `folder` with `socket` as standard input and output. Returns 0 or errno.
int spawn(const std::vector<std::string>& command, const std::string& folder, int socket, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Resets signals that this program blocks or ignores.
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
  bool has_signaled = false;
  while (::waitpid(pid_, &state, WNOHANG) == 0) {
    const double waited = base::seconds_since(begin);
    if (waited > seconds_to_end) {
      ::kill(-pid_, SIGKILL);
    } else if (waited > seconds_to_end / 4 && !has_signaled) {
      ::kill(-pid_, SIGTERM);
      has_signaled = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(-pid_, SIGKILL);  // its descendants
  pid_ = -1;
  if (WIFSIGNALED(state)) return fmt::format("it was killed by signal {}", WTERMSIG(state));
  return fmt::format("it exited with code {}", WEXITSTATUS(state));
}

namespace {

using base::Result;
using base::Status;
using Clock = std::chrono::steady_clock;

std::string line_of(const Response& response) {
  return fmt::format("{{\"id\": {}, \"prompt\": {}, \"response\": {}, \"answer\": {}}}\n",
                     base::json_string(response.id), base::json_string(response.prompt),
                     base::json_string(response.response), response.answer.empty() ? "null" : response.answer);
}

/// Parsed line of a reward process.
struct RewardLine {
  std::string id;
  double reward = 0;
};

Result<RewardLine> parse_reward_line(std::string_view line) {
  const auto fault = [&](const std::string& what) {
    return base::bad_input(fmt::format(
        "the reward command wrote {}: {}; accepted: {{\"id\": \"...\", \"reward\": 1.0}}", base::quote(line), what));
  };
  const auto document = base::parse_json(line, "");
  if (!document.ok()) return fault(document.error().message);
  const base::Node root = document->root();
  if (!root.is_map()) return fault("not a JSON object");
  const auto id = root.find("id");
  const auto reward = root.find("reward");
  if (!id || !id->is_string()) return fault("`id` is missing or not a string");
  if (!reward || !reward->is_number()) return fault("`reward` is missing or not a number");
  constexpr double most = 1e300;
  const auto value = base::read_number(*reward, "`reward`", -most, most);
  if (!value.ok()) return fault(value.error().message);
  return RewardLine{std::string(id->text()), *value};
}

/// Responses of one call and their rewards.
class RewardCollector {
 public:
  explicit RewardCollector(std::span<const Response> responses) : responses_(responses), rewards_(responses.size()) {
    for (std::size_t index = 0; index < responses.size(); ++index) {
      const bool is_new = index_of_.emplace(responses[index].id, index).second;
      DOVETAIL_ASSERT(is_new);
    }
  }

  /// Stores the reward in a line. Returns the index of its response.
  Result<std::size_t> take(const std::string& line) {
    DOVETAIL_TRY(const RewardLine line_reward, parse_reward_line(line));
    const auto found = index_of_.find(line_reward.id);
    if (found == index_of_.end())
      return base::bad_input(
          fmt::format("the reward command returned the unknown id {}; it must return the ids that it reads",
                      base::quote(line_reward.id)));
    if (rewards_[found->second])
      return base::bad_input(fmt::format("the reward command judged {} twice; it must judge each response once",
                                         base::quote(line_reward.id)));
    rewards_[found->second] = line_reward.reward;
    ++received_;
    return found->second;
  }

  bool is_complete() const { return received_ == responses_.size(); }
  std::vector<double> rewards() const {
    std::vector<double> all;
    for (const std::optional<double>& reward : rewards_) all.push_back(*reward);
    return all;
  }

 private:
  std::span<const Response> responses_;
  std::vector<std::optional<double>> rewards_;
  std::map<std::string_view, std::size_t> index_of_;
  std::size_t received_ = 0;
};

}  // namespace

/// One process and its unanswered responses.
struct RewardProcesses::Worker {
  Worker(const RewardCommand& command, const std::string& folder) : process(command.command, folder) {}

  LineProcess process;
  std::vector<std::size_t> waiting;  ///< responses of this call
  int restarts = 0;                  ///< in this call
  Clock::time_point last_answer = Clock::now();

  void submit(std::size_t index, const Response& response) {
    waiting.push_back(index);
    process.send(line_of(response));
  }
};

RewardProcesses::RewardProcesses() = default;
RewardProcesses::RewardProcesses(RewardProcesses&&) noexcept = default;
RewardProcesses& RewardProcesses::operator=(RewardProcesses&&) noexcept = default;
RewardProcesses::~RewardProcesses() = default;

Result<RewardProcesses> RewardProcesses::start(const RewardCommand& command, const std::string& folder) {
  DOVETAIL_ASSERT(!command.command.empty() && command.processes > 0);
  RewardProcesses all;
  all.timeout_ = command.timeout;
  for (std::int64_t index = 0; index < command.processes; ++index) {
    all.workers_.push_back(std::make_unique<Worker>(command, folder));
    if (Status started = all.workers_.back()->process.start(); !started.ok()) {
      base::Error error = std::move(started).error();
      error.message = "the reward command " + error.message;
      return error;
    }
  }
  return all;
}

/// Restarts a process after its first failure. `why` is empty if the process has ended.
Status RewardProcesses::restart(Worker& worker, std::span<const Response> responses, const std::string& why) {
  const std::string how = worker.process.end();
  const std::vector<std::size_t> waiting = std::exchange(worker.waiting, {});
  if (worker.restarts++ > 0)
    return base::Error{base::Failure::io, "", 0, 0,
                       fmt::format("the reward command failed twice, last at response {}: {}",
                                   base::quote(responses[waiting.front()].id), why.empty() ? how : why)};
  DOVETAIL_CHECK(worker.process.start());
  for (const std::size_t index : waiting) worker.submit(index, responses[index]);
  worker.last_answer = Clock::now();
  return {};
}

/// Waits briefly until a process can be written to or has written.
void RewardProcesses::wait() const {
  constexpr int milliseconds = 50;
  std::vector<pollfd> polls;
  for (const auto& worker : workers_)
    polls.push_back(
        {worker->process.socket(), static_cast<short>(worker->process.has_output() ? POLLIN | POLLOUT : POLLIN), 0});
  ::poll(polls.data(), polls.size(), milliseconds);
}

Result<std::vector<double>> RewardProcesses::rewards_of(std::span<const Response> responses,
                                                        const parallel::Cancellation* cancellation) {
  RewardCollector collector(responses);
  for (const auto& worker : workers_) {
    worker->waiting.clear();
    worker->restarts = 0;
    worker->last_answer = Clock::now();
  }
  for (std::size_t index = 0; index < responses.size(); ++index)
    workers_[index % workers_.size()]->submit(index, responses[index]);
  while (!collector.is_complete()) {
    if (parallel::is_requested(cancellation))
      return base::Error{base::Failure::interrupted, "", 0, 0, "stopped while judging responses"};
    wait();
    for (const auto& worker : workers_) {
      if (worker->waiting.empty()) continue;
      std::vector<std::string> lines;
      const bool is_there = worker->process.exchange(lines);
      for (const std::string& line : lines) {
        if (line.empty()) continue;
        DOVETAIL_TRY(const std::size_t index, collector.take(line));
        for (const auto& other : workers_) std::erase(other->waiting, index);
        worker->last_answer = Clock::now();
      }
      if (worker->waiting.empty()) continue;
      if (!is_there) DOVETAIL_CHECK(restart(*worker, responses, ""));
      if (base::seconds_since(worker->last_answer) > timeout_)
        DOVETAIL_CHECK(restart(*worker, responses, fmt::format("no answer for {:g} s (`timeout`)", timeout_)));
    }
  }
  return collector.rewards();
}

}  // namespace dovetail::control
