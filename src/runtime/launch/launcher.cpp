#include "runtime/launch/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "answer/words/amounts.h"
#include "base/open_file.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "runtime/launch/child.h"
#include "runtime/launch/patient_store.h"
#include "runtime/ranks/error_text.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_note.h"
#include "runtime/ranks/run_rank.h"

namespace dovetail::runtime {
namespace {

using base::Error;
using base::Status;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// What ranks that are asked to end have for it.
constexpr auto grace = 5s;
constexpr auto between_looks = 200ms;
/// Between two looks at the signs of life. A launcher that was held up counts no more than twice of it.
constexpr auto between_signs = 500ms;
/// What a rank has to find the store, beyond the time that it may be silent.
constexpr auto start_limit = 60s;

/// A rank's process.
struct RankProcess {
  Child child;
  std::string output;            ///< that has come and is not printed
  std::string errors;            ///< likewise
  std::int64_t resident = 0;     ///< bytes, when it was last looked at
  std::optional<int> ended;      ///< the state that waitpid gave
  bool was_told_to_end = false;  ///< before it ended
  RankNote note;                 ///< when the store was last asked
  std::int64_t signs = 0;        ///< of life, likewise
  Clock::duration silence{};     ///< since they were more than before
};

/// The pipe through which signals come to the launcher. It stays as long as their handler.
int signals_in = -1;
int signals_out = -1;

void take_signal(int signal) {
  const int kept = errno;
  const auto byte = static_cast<unsigned char>(signal);
  // A pipe that is full wakes the launcher anyway.
  (void)!::write(signals_in, &byte, 1);
  errno = kept;
}

/// From now on signals end nothing here, they come through the pipe. They are not held back and read from a signalfd:
/// libraries have threads before main() begins, which would take them. 0 or errno.
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
  // The program that became this one may have held them back.
  ::pthread_sigmask(SIG_UNBLOCK, &taken, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return 0;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/// What the store says of a rank; nothing where it gives an error.
struct RankWords {
  std::optional<RankNote> note;
  std::optional<std::int64_t> signs;
};

/// What the store has said of all ranks, also to a question that nobody waits for any more.
struct Heard {
  std::mutex mutex;
  std::vector<RankWords> words;
};

std::vector<RankWords> words_of_all(JobStore& store, int ranks) {
  std::vector<RankWords> all;
  for (int rank = 0; rank < ranks; ++rank) {
    RankWords& words = all.emplace_back();
    if (const auto note = store.find(note_key(rank)); note.ok())
      words.note = *note ? note_from_bytes(**note) : RankNote();
    if (const auto signs = store.add(alive_key(rank), 0); signs.ok()) words.signs = *signs;
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
  /// Nothing is left of a rank.
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
      look();
      if (kill_at_ && Clock::now() >= *kill_at_) signal_all(SIGKILL);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) pass_on(rank, true);
    // A rank that was killed has left its line of progress.
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

  /// Waits for what comes next, and takes it.
  void look() {
    std::vector<pollfd> waits{{signals_out, POLLIN, 0}};
    for (const RankProcess& rank : ranks_)
      for (const int pipe : {rank.child.output, rank.child.errors})
        if (pipe >= 0) waits.push_back({pipe, POLLIN, 0});
    ::poll(waits.data(), waits.size(), static_cast<int>(std::chrono::milliseconds(between_looks).count()));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) pass_on(rank, false);
    unsigned char signal = 0;
    while (::read(signals_out, &signal, 1) == 1)
      if (signal != SIGCHLD) interrupt(signal);
    for (RankProcess& rank : ranks_)
      if (const std::int64_t resident = rank.ended ? 0 : resident_bytes(rank.child.pid); resident > 0)
        rank.resident = resident;
    reap();
    listen();
  }

  /// Takes what the store says of each rank. Whether it says it now: a rank that was stopped within a word to the store
  /// holds that up.
  bool hear() {
    const auto answered = store_.answer_of([heard = heard_, ranks = arguments_.ranks](JobStore& store) {
      std::vector<RankWords> words = words_of_all(store, ranks);
      const std::lock_guard lock(heard->mutex);
      heard->words = std::move(words);
      return true;
    });
    const std::lock_guard lock(heard_->mutex);
    for (std::size_t rank = 0; rank < std::min(ranks_.size(), heard_->words.size()); ++rank) {
      const RankWords& words = heard_->words[rank];
      ranks_[rank].note = words.note.value_or(ranks_[rank].note);
      ranks_[rank].signs = words.signs.value_or(ranks_[rank].signs);
    }
    return answered.has_value();
  }

  /// Counts signs of life, and ends all where a rank gives none.
  void listen() {
    const Clock::duration elapsed = Clock::now() - listened_;
    if (elapsed < between_signs || kill_at_ || interrupts_ > 0) return;
    listened_ += elapsed;
    std::vector<std::int64_t> before;
    for (const RankProcess& rank : ranks_) before.push_back(rank.signs);
    const bool answers = hear();
    std::optional<std::size_t> silent;
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
      RankProcess& rank = ranks_[index];
      if (rank.ended) continue;
      rank.silence = rank.signs > before[index] ? Clock::duration(0)
                                                : rank.silence + std::min<Clock::duration>(elapsed, 2 * between_signs);
      if (rank.silence > arguments_.timeout + (rank.signs == 0 ? start_limit : 0s)) silent = silent.value_or(index);
    }
    if (!silent) return;
    if (!answers) silent = stopped_rank().value_or(*silent);
    lost_ = error_of_silence(*silent, answers);
    // The others hear of it and end.
    store_.answer_of([said = error_to_bytes({static_cast<int>(*silent), *lost_})](JobStore& store) {
      return store.propose(first_error_key, said).ok();
    });
    kill_at_ = Clock::now() + grace;
  }

  std::optional<std::size_t> stopped_rank() const {
    const auto found = std::find_if(ranks_.begin(), ranks_.end(),
                                    [](const RankProcess& rank) { return !rank.ended && is_stopped(rank.child.pid); });
    return found == ranks_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - ranks_.begin()));
  }

  /// Where the store does not answer all ranks are silent, and one that is stopped is why.
  Error error_of_silence(std::size_t index, bool store_answers) const {
    const RankProcess& rank = ranks_[index];
    const double seconds = std::chrono::duration<double>(rank.silence).count();
    if (store_answers || is_stopped(rank.child.pid))
      return lost(index, fmt::format("it gave no sign of life for {:.1f} s; it is stopped, or hangs", seconds));
    return in_phase(rank.note.phase, {base::Failure::lost, "", 0, 0,
                                      fmt::format("the store of the job has not answered for {:.1f} s", seconds)});
  }

  void interrupt(int signal) { signal_all(++interrupts_ == 1 ? signal : SIGKILL); }

  void signal_all(int signal) {
    for (RankProcess& rank : ranks_) {
      if (rank.ended) continue;
      rank.was_told_to_end = true;
      ::kill(rank.child.pid, signal);
    }
  }

  /// Takes the ranks that have ended; the first that failed ends the others.
  void reap() {
    bool fails = false;
    for (RankProcess& rank : ranks_) {
      if (rank.ended || !has_ended(rank.child.pid)) continue;
      // What it has started is of its group. The group's id is its own as long as it is not waited for.
      ::kill(-rank.child.pid, SIGKILL);
      int state = 0;
      ::waitpid(rank.child.pid, &state, 0);
      rank.ended = state;
      fails = fails || state != 0;
      if (state != 0 && !first_failed_) first_failed_ = static_cast<std::size_t>(&rank - ranks_.data());
    }
    if (!fails || kill_at_ || interrupts_ > 0) return;
    // Where the store does not answer, it has not heard why the rank failed: that waited for one that is stopped.
    if (const auto stopped = stopped_rank(); stopped && !hear()) lost_ = error_of_silence(*stopped, false);
    kill_at_ = Clock::now() + grace;
    signal_all(SIGTERM);
  }

  /// Prints the whole lines that a rank has said; `all`: also one without an end.
  void pass_on(std::size_t index, bool all) {
    RankProcess& rank = ranks_[index];
    if (rank.child.output >= 0) read_pipe(rank.child.output, rank.output);
    if (rank.child.errors >= 0) read_pipe(rank.child.errors, rank.errors);
    if (index == 0)
      base::write_all(STDOUT_FILENO, std::exchange(rank.output, {}));
    else
      cli::print(take_lines(rank.output, index, all));
    const std::string said = take_lines(rank.errors, index, all);
    if (!said.empty() && cli::stderr_is_terminal()) cli::rewrite_line("");
    cli::print_error(said);
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
    hear();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (WIFSIGNALED(*ranks_[rank].ended) && !ranks_[rank].was_told_to_end) return ended_by_signal(rank);
    if (interrupts_ > 0) return Error{base::Failure::interrupted, "", 0, 0, "interrupted"};
    if (!first_failed_) return {};
    const auto said = store_.answer_of([](JobStore& store) { return store.find(first_error_key); });
    if (said && said->ok() && **said) return error_from_bytes(***said).error;
    if (lost_) return *lost_;
    const int code = WEXITSTATUS(*ranks_[*first_failed_].ended);
    return Error{failure_of(code), "", 0, 0, fmt::format("rank {} ended with exit code {}", *first_failed_, code)};
  }

  Error ended_by_signal(std::size_t rank) const {
    const int signal = WTERMSIG(*ranks_[rank].ended);
    std::string cause = fmt::format("it was ended by signal {} ({})", signal, ::strsignal(signal));
    if (signal == SIGKILL) {
      cause += fmt::format(", as a system does that runs out of memory; its resident memory was last {}",
                           answer::gibibytes(ranks_[rank].resident));
      if (const auto predicted = ranks_[rank].note.predicted)
        cause += fmt::format(", and the plan needs {}", answer::gibibytes(*predicted));
    }
    return lost(rank, cause);
  }

  Error lost(std::size_t rank, const std::string& cause) const {
    return in_phase(ranks_[rank].note.phase,
                    {base::Failure::lost, "", 0, 0, fmt::format("rank {} is lost: {}", rank, cause)});
  }

  const LaunchArguments& arguments_;
  PatientStore store_;
  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  std::vector<RankProcess> ranks_;
  int interrupts_ = 0;
  std::optional<std::size_t> first_failed_;
  std::optional<Error> lost_;  ///< what ended all, where no rank said it
  std::optional<Clock::time_point> kill_at_;
  Clock::time_point listened_ = Clock::now();
};

}  // namespace

Status launch(const LaunchArguments& arguments) {
  if (const int error = open_signals(); error != 0) return base::io_error("", "signals cannot be waited for", error);
  DOVETAIL_TRY(std::unique_ptr<JobStore> store, JobStore::hold(0, 0));
  return Launcher(arguments, std::move(store)).run();
}

}  // namespace dovetail::runtime
