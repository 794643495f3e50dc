#include "runtime/launch/launcher.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "answer/text/figures.h"
#include "base/open_file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_note.h"
#include "runtime/ranks/run_rank.h"

namespace dovetail::runtime {
namespace {

/// Both ends of two pipes. The destructor closes those that were not taken.
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

/// Returns pointers to strings, as exec expects them.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Returns 0 or errno.
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

/// Queries a store from separate threads, so that the caller never blocks. The server of libtorch 1.13 waits for the
/// rest of a client's message: if that client is stopped, the store serves no other.
class NonBlockingStore {
 public:
  explicit NonBlockingStore(std::unique_ptr<JobStore> store) : store_(std::move(store)) {}

  std::uint16_t port() const { return store_->port(); }

  /// Returns the result of `run_query(store)`. Returns nullopt if that takes longer than two seconds, or immediately
  /// while an earlier query is pending. A thread that the store blocks is abandoned.
  template <class Query>
  auto answer_of(Query run_query) -> std::optional<decltype(run_query(std::declval<JobStore&>()))> {
    using Answer = decltype(run_query(std::declval<JobStore&>()));
    if (is_busy_->exchange(true)) return std::nullopt;
    std::packaged_task<Answer()> query(
        [store = store_, is_busy = is_busy_, run_query = std::move(run_query)]() mutable {
          Answer given = run_query(*store);
          // The thread that waits for the answer may destroy the store, but this one must not.
          store.reset();
          *is_busy = false;
          return given;
        });
    std::future<Answer> answer = query.get_future();
    try {
      std::thread(std::move(query)).detach();
    } catch (const std::system_error&) {
      *is_busy_ = false;
      return std::nullopt;
    }
    if (answer.wait_for(std::chrono::seconds(2)) != std::future_status::ready) return std::nullopt;
    return answer.get();
  }

 private:
  std::shared_ptr<JobStore> store_;
  std::shared_ptr<std::atomic<bool>> is_busy_ = std::make_shared<std::atomic<bool>>(false);
};

using base::Error;
using base::Status;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Time for ranks to end after SIGTERM.
constexpr auto grace = 5s;
constexpr auto poll_interval = 200ms;
/// Interval between heartbeat checks. If a check is late, at most twice this interval counts as silence.
constexpr auto sign_interval = 500ms;
/// Time for a rank to connect to the store, in addition to the allowed silence.
constexpr auto start_limit = 60s;

/// Process of a rank.
struct RankProcess {
  Child child;
  std::string output;         ///< received but not yet printed
  std::string errors;         ///< received but not yet printed
  std::int64_t resident = 0;  ///< bytes at the last check
  std::optional<int> ended;   ///< status from waitpid
  bool was_signaled = false;  ///< the launcher sent it a signal before it ended
  RankNote note;              ///< note at the last query of the store
  std::int64_t signs = 0;     ///< heartbeats at the last query of the store
  Clock::duration silence{};  ///< time since the last heartbeat
};

/// Pipe that delivers signals to the launcher. It exists as long as their handler.
int signals_in = -1;
int signals_out = -1;

void take_signal(int signal) {
  const int kept = errno;
  const auto byte = static_cast<unsigned char>(signal);
  // A full pipe wakes the launcher as well.
  (void)!::write(signals_in, &byte, 1);
  errno = kept;
}

/// Redirects signals to the pipe. Returns 0 or errno. Blocking them and reading a signalfd would not work: libraries
/// have threads before main() begins, which would receive them.
int open_signals() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
  signals_out = ends[0];
  signals_in = ends[1];
  struct sigaction action{};
  action.sa_handler = take_signal;
  action.sa_flags = SA_RESTART;
  sigset_t taken;
  sigemptyset(&taken);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    ::sigaction(signal, &action, nullptr);
    sigaddset(&taken, signal);
  }
  // The previous program of this process may have blocked them.
  ::pthread_sigmask(SIG_UNBLOCK, &taken, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return 0;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/// Data of a rank in the store. Members are empty if the store returned an error.
struct RankRecord {
  std::optional<RankNote> note;
  std::optional<std::int64_t> signs;
};

/// Latest data of all ranks, including answers that arrived after the wait for them ended.
struct LatestRecords {
  std::mutex mutex;
  std::vector<RankRecord> records;
};

std::vector<RankRecord> records_of_all(JobStore& store, int ranks) {
  std::vector<RankRecord> all;
  for (int rank = 0; rank < ranks; ++rank) {
    RankRecord& record = all.emplace_back();
    if (const auto note = store.find(note_key(rank)); note.ok())
      record.note = *note ? note_from_bytes(**note) : RankNote();
    if (const auto signs = store.add(alive_key(rank), 0); signs.ok()) record.signs = *signs;
  }
  return all;
}

base::Failure failure_of(int exit_code) {
  for (const base::Failure failure :
       {base::Failure::bad_input, base::Failure::infeasible, base::Failure::lost, base::Failure::interrupted})
    if (cli::exit_code_of(failure) == exit_code) return failure;
  return base::Failure::invalid;
}

class Launcher {
 public:
  Launcher(const LaunchArguments& arguments, std::unique_ptr<JobStore> store)
      : arguments_(arguments), store_(std::move(store)) {}
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  /// Kills the remaining ranks.
  ~Launcher() {
    for (RankProcess& rank : ranks_) {
      if (!rank.ended) {
        ::kill(-rank.child.pid, SIGKILL);
        ::waitpid(rank.child.pid, nullptr, 0);
      }
      for (const int pipe : {rank.child.output, rank.child.errors})
        if (pipe >= 0) ::close(pipe);
    }
  }

  Status run() {
    DOVETAIL_CHECK(start());
    while (std::any_of(ranks_.begin(), ranks_.end(), [](const RankProcess& rank) { return !rank.ended; })) {
      handle_events();
      if (kill_at_ && Clock::now() >= *kill_at_) signal_all(SIGKILL);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) pass_on(rank, true);
    // Erases the progress line of a killed rank.
    if (cli::stderr_is_terminal()) cli::rewrite_line("");
    return outcome();
  }

 private:
  Status start() {
    std::vector<std::string> command{path_of_this_program()};
    command.insert(command.end(), arguments_.command.begin(), arguments_.command.end());
    for (int rank = 0; rank < arguments_.ranks; ++rank) {
      // A terminal shows the progress of rank 0.
      const bool shows = rank == 0 && cli::stderr_is_terminal();
      DOVETAIL_TRY(Child child,
                   start_child(command, variables_of(rank), shows ? ChildErrors::shared : ChildErrors::piped));
      ranks_.emplace_back().child = child;
    }
    return {};
  }

  Variables variables_of(int rank) const {
    Variables variables = environment_variables();
    const std::string ranks = std::to_string(arguments_.ranks);
    variables["RANK"] = variables["LOCAL_RANK"] = std::to_string(rank);
    variables["WORLD_SIZE"] = variables["LOCAL_WORLD_SIZE"] = ranks;
    variables["MASTER_ADDR"] = "127.0.0.1";
    variables["MASTER_PORT"] = std::to_string(store_.port());
    variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
    variables["TORCHELASTIC_RESTART_COUNT"] = "0";
    variables[launcher_variable] = std::to_string(::getpid());
    variables.emplace("OMP_NUM_THREADS", "1");
    return variables;
  }

  /// Waits for the next event and handles it.
  void handle_events() {
    std::vector<pollfd> waits{{signals_out, POLLIN, 0}};
    for (const RankProcess& rank : ranks_)
      for (const int pipe : {rank.child.output, rank.child.errors})
        if (pipe >= 0) waits.push_back({pipe, POLLIN, 0});
    ::poll(waits.data(), waits.size(), static_cast<int>(std::chrono::milliseconds(poll_interval).count()));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) pass_on(rank, false);
    unsigned char signal = 0;
    while (::read(signals_out, &signal, 1) == 1)
      if (signal != SIGCHLD) interrupt(signal);
    for (RankProcess& rank : ranks_)
      if (const std::int64_t resident = rank.ended ? 0 : resident_bytes(rank.child.pid); resident > 0)
        rank.resident = resident;
    reap();
    check_silence();
  }

  /// Updates notes and heartbeats from the store. Returns false if the store does not respond now: a rank that is
  /// stopped while it writes to the store blocks it.
  bool update_records() {
    const auto answered = store_.answer_of([latest = latest_, ranks = arguments_.ranks](JobStore& store) {
      std::vector<RankRecord> records = records_of_all(store, ranks);
      const std::lock_guard lock(latest->mutex);
      latest->records = std::move(records);
      return true;
    });
    const std::lock_guard lock(latest_->mutex);
    for (std::size_t rank = 0; rank < std::min(ranks_.size(), latest_->records.size()); ++rank) {
      const RankRecord& record = latest_->records[rank];
      ranks_[rank].note = record.note.value_or(ranks_[rank].note);
      ranks_[rank].signs = record.signs.value_or(ranks_[rank].signs);
    }
    return answered.has_value();
  }

  /// Checks heartbeats, and ends all ranks if one is silent for too long.
  void check_silence() {
    const Clock::duration elapsed = Clock::now() - checked_;
    if (elapsed < sign_interval || kill_at_ || interrupts_ > 0) return;
    checked_ += elapsed;
    std::vector<std::int64_t> before;
    for (const RankProcess& rank : ranks_) before.push_back(rank.signs);
    const bool answers = update_records();
    std::optional<std::size_t> silent;
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
      RankProcess& rank = ranks_[index];
      if (rank.ended) continue;
      rank.silence = rank.signs > before[index] ? Clock::duration(0)
                                                : rank.silence + std::min<Clock::duration>(elapsed, 2 * sign_interval);
      if (rank.silence > arguments_.timeout + (rank.signs == 0 ? start_limit : 0s)) silent = silent.value_or(index);
    }
    if (!silent) return;
    if (!answers) silent = stopped_rank().value_or(*silent);
    lost_ = error_of_silence(*silent, answers);
    // The other ranks receive the error and end.
    store_.answer_of([bytes = error_to_bytes({static_cast<int>(*silent), *lost_})](JobStore& store) {
      return store.propose(first_error_key, bytes).ok();
    });
    kill_at_ = Clock::now() + grace;
  }

  std::optional<std::size_t> stopped_rank() const {
    const auto found = std::find_if(ranks_.begin(), ranks_.end(),
                                    [](const RankProcess& rank) { return !rank.ended && is_stopped(rank.child.pid); });
    return found == ranks_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - ranks_.begin()));
  }

  /// If the store does not respond, all ranks are silent. A stopped rank is the likely cause.
  Error error_of_silence(std::size_t index, bool store_answers) const {
    const RankProcess& rank = ranks_[index];
    const double seconds = std::chrono::duration<double>(rank.silence).count();
    if (store_answers || is_stopped(rank.child.pid))
      return lost(index, fmt::format("no heartbeat for {:.1f} s; it is stopped or hangs", seconds));
    return in_phase(rank.note.phase, {base::Failure::lost, "", 0, 0,
                                      fmt::format("the job's store has not responded for {:.1f} s", seconds)});
  }

  void interrupt(int signal) { signal_all(++interrupts_ == 1 ? signal : SIGKILL); }

  void signal_all(int signal) {
    for (RankProcess& rank : ranks_) {
      if (rank.ended) continue;
      rank.was_signaled = true;
      ::kill(rank.child.pid, signal);
    }
  }

  /// Reaps the ranks that have ended. The first failure ends the others.
  void reap() {
    bool fails = false;
    for (RankProcess& rank : ranks_) {
      if (rank.ended || !has_ended(rank.child.pid)) continue;
      // Kills the processes that the rank started. Until waitpid, no other group can have this ID.
      ::kill(-rank.child.pid, SIGKILL);
      int state = 0;
      ::waitpid(rank.child.pid, &state, 0);
      rank.ended = state;
      fails = fails || state != 0;
      if (state != 0 && !first_failed_) first_failed_ = static_cast<std::size_t>(&rank - ranks_.data());
    }
    if (!fails || kill_at_ || interrupts_ > 0) return;
    // If the store does not respond, the failed rank could not report its error: a stopped rank blocks the store.
    if (const auto stopped = stopped_rank(); stopped && !update_records()) lost_ = error_of_silence(*stopped, false);
    kill_at_ = Clock::now() + grace;
    signal_all(SIGTERM);
  }

  /// Prints the complete lines of a rank's output. With `all`, also prints a last line without a newline.
  void pass_on(std::size_t index, bool all) {
    RankProcess& rank = ranks_[index];
    if (rank.child.output >= 0) read_pipe(rank.child.output, rank.output);
    if (rank.child.errors >= 0) read_pipe(rank.child.errors, rank.errors);
    if (index == 0)
      base::write_all(STDOUT_FILENO, std::exchange(rank.output, {}));
    else
      cli::print(take_lines(rank.output, index, all));
    const std::string lines = take_lines(rank.errors, index, all);
    if (!lines.empty() && cli::stderr_is_terminal()) cli::rewrite_line("");
    cli::print_error(lines);
  }

  static std::string take_lines(std::string& text, std::size_t rank, bool all) {
    if (all && !text.empty() && text.back() != '\n') text += '\n';
    std::string lines;
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      lines += fmt::format("[rank {}] {}", rank, std::string_view(text).substr(0, end + 1));
      text.erase(0, end + 1);
    }
    return lines;
  }

  Status outcome() {
    update_records();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (WIFSIGNALED(*ranks_[rank].ended) && !ranks_[rank].was_signaled) return ended_by_signal(rank);
    if (interrupts_ > 0) return Error{base::Failure::interrupted, "", 0, 0, "interrupted"};
    if (!first_failed_) return {};
    const auto first = store_.answer_of([](JobStore& store) { return store.find(first_error_key); });
    if (first && first->ok() && **first) return error_from_bytes(***first).error;
    if (lost_) return *lost_;
    const int code = WEXITSTATUS(*ranks_[*first_failed_].ended);
    return Error{failure_of(code), "", 0, 0, fmt::format("rank {} exited with code {}", *first_failed_, code)};
  }

  Error ended_by_signal(std::size_t rank) const {
    const int signal = WTERMSIG(*ranks_[rank].ended);
    std::string cause = fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));
    if (signal == SIGKILL) {
      cause += fmt::format(", possibly because the machine ran out of memory; the rank's last resident memory was {}",
                           answer::gibibytes(ranks_[rank].resident));
      if (const auto predicted = ranks_[rank].note.predicted)
        cause += fmt::format(", and the plan needs up to {}", answer::gibibytes(*predicted));
    }
    return lost(rank, cause);
  }

  Error lost(std::size_t rank, const std::string& cause) const {
    return in_phase(ranks_[rank].note.phase,
                    {base::Failure::lost, "", 0, 0, fmt::format("rank {} is lost: {}", rank, cause)});
  }

  const LaunchArguments& arguments_;
  NonBlockingStore store_;
  std::shared_ptr<LatestRecords> latest_ = std::make_shared<LatestRecords>();
  std::vector<RankProcess> ranks_;
  int interrupts_ = 0;
  std::optional<std::size_t> first_failed_;
  std::optional<Error> lost_;  ///< cause of the end that no rank reported
  std::optional<Clock::time_point> kill_at_;
  Clock::time_point checked_ = Clock::now();
};

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
                       fmt::format("cannot start the program: {}", std::strerror(code))};
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
  // "17 (name) T ...": the name may contain parentheses.
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && (text[name_end + 2] == 'T' || text[name_end + 2] == 't');
}

std::string path_of_this_program() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).string();
}

Status launch(const LaunchArguments& arguments) {
  if (const int error = open_signals(); error != 0) return base::io_error("", "cannot wait for signals", error);
  DOVETAIL_TRY(std::unique_ptr<JobStore> store, JobStore::hold(0, 0));
  return Launcher(arguments, std::move(store)).run();
}

}  // namespace dovetail::runtime
