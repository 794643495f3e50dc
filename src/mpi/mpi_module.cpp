// The shared module that connect_by_mpi loads. One separate thread makes all MPI calls. The caller waits for that
// thread, but never longer than the timeout, whatever MPI is waiting for.
#include "parallel/mpi_module.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace dovetail::mpi {
namespace {

/// Maximum size of one rank's chunk in a collective, in bytes. Longer messages take several collectives, because MPI's
/// counts and displacements are ints.
constexpr std::int64_t max_chunk = std::int64_t{4} << 20;

/// This process as a rank. Never destroyed: after a timeout MPI may still write to its buffers.
class Rank {
 public:
  bool connect(double timeout_seconds) {
    timeout_ = std::chrono::duration<double>(std::min(timeout_seconds, max_timeout_seconds));
    try {
      std::thread([this] { serve(); }).detach();
    } catch (const std::system_error& exception) {
      reported_error_ = exception.what();
      return false;
    }
    std::atexit([] { the_rank().leave(); });
    return call("MPI_Init", [this] { return initialize(); });
  }

  bool all_gather(const char* message, std::int64_t size) {
    message_.assign(message, message + size);
    return call("an exchange of results", [this] { return exchange_messages(); });
  }

  static Rank& the_rank() {
    static Rank* const rank = new Rank;
    return *rank;
  }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const char* gathered() const { return gathered_.data(); }
  const std::int64_t* sizes() const { return sizes_.data(); }
  const char* error() const { return reported_error_.c_str(); }

 private:
  enum class State { idle, requested, done };

  static constexpr double max_timeout_seconds = 1e8;

  /// Runs `work` on the MPI thread and waits for it. Returns false and sets the error if it failed or timed out.
  bool call(const char* what, std::function<bool()> work) {
    std::unique_lock lock(mutex_);
    work_ = std::move(work);
    state_ = State::requested;
    changed_.notify_all();
    if (!changed_.wait_for(lock, timeout_, [this] { return state_ == State::done; })) {
      abandoned_ = true;
      reported_error_ =
          std::string("a process is lost or does not respond: ") + what + " did not complete within " + seconds_text();
      return false;
    }
    state_ = State::idle;
    if (!succeeded_) {
      abandoned_ = true;
      reported_error_ = error_;
    }
    return succeeded_;
  }

  std::string seconds_text() const {
    std::string text = std::to_string(timeout_.count());
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.') || text.ends_with(',')) text.pop_back();
    return text + " s";
  }

  /// Main loop of the MPI thread: runs one request after another.
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return state_ == State::requested; });
      const std::function<bool()> work = work_;
      lock.unlock();
      bool succeeded = false;
      try {
        succeeded = work();
      } catch (const std::exception& exception) {
        error_ = exception.what();
      }
      lock.lock();
      if (abandoned_ && initialized_) {
        wait_for_the_end(lock);
        return;
      }
      succeeded_ = succeeded;
      state_ = State::done;
      changed_.notify_all();
    }
  }

  /// After a timeout: does nothing until the process exits, so that it can report the error and write its results.
  void wait_for_the_end(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return leaving_; });
    lock.unlock();
    MPI_Abort(MPI_COMM_WORLD, parallel::dovetail_mpi_abort_code);
  }

  /// Runs at exit. A rank that hangs inside MPI is left as it is: the launcher sees it end without MPI_Finalize and
  /// ends the others.
  void leave() {
    std::unique_lock lock(mutex_);
    leaving_ = true;
    if (!abandoned_) {
      lock.unlock();
      call("MPI_Finalize", [] { return MPI_Finalize() == MPI_SUCCESS; });
      return;
    }
    if (!initialized_) return;
    if (state_ == State::idle) {
      work_ = [] { return MPI_Abort(MPI_COMM_WORLD, parallel::dovetail_mpi_abort_code) == MPI_SUCCESS; };
      state_ = State::requested;
    }
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(5), [] { return false; });
  }

  bool initialize() {
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    if (is_initialized != 0) {
      error_ = "this program has already initialized MPI; it must provide its own Exchange";
      return false;
    }
    int provided = 0;
    if (!check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided))) return false;
    {
      const std::scoped_lock lock(mutex_);
      initialized_ = true;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    return true;
  }

  bool exchange_messages() {
    const auto size = static_cast<std::int64_t>(message_.size());
    sizes_.assign(static_cast<std::size_t>(ranks_), 0);
    MPI_Request request = MPI_REQUEST_NULL;
    if (!check(MPI_Iallgather(&size, 1, MPI_INT64_T, sizes_.data(), 1, MPI_INT64_T, MPI_COMM_WORLD, &request)))
      return false;
    if (!wait(request)) return false;
    gathered_.resize(static_cast<std::size_t>(std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0})));
    const std::int64_t longest = *std::max_element(sizes_.begin(), sizes_.end());
    const std::int64_t chunk = std::min<std::int64_t>(max_chunk, std::numeric_limits<int>::max() / ranks_);
    for (std::int64_t begin = 0; begin < longest; begin += chunk)
      if (!exchange_chunks(begin, chunk)) return false;
    return true;
  }

  /// Exchanges up to `chunk` bytes of every message, starting at `begin`.
  bool exchange_chunks(std::int64_t begin, std::int64_t chunk) {
    const auto length_of = [begin, chunk](std::int64_t size) {
      return static_cast<int>(std::clamp<std::int64_t>(size - begin, 0, chunk));
    };
    counts_.clear();
    places_.clear();
    int total = 0;
    for (const std::int64_t size : sizes_) {
      counts_.push_back(length_of(size));
      places_.push_back(total);
      total += counts_.back();
    }
    chunks_.resize(static_cast<std::size_t>(total));
    const int own = counts_[static_cast<std::size_t>(rank_)];
    MPI_Request request = MPI_REQUEST_NULL;
    if (!check(MPI_Iallgatherv(own > 0 ? message_.data() + begin : nullptr, own, MPI_BYTE, chunks_.data(),
                               counts_.data(), places_.data(), MPI_BYTE, MPI_COMM_WORLD, &request)))
      return false;
    if (!wait(request)) return false;
    std::int64_t place = 0;
    for (std::size_t rank = 0; rank < sizes_.size(); ++rank) {
      if (counts_[rank] > 0)
        std::memcpy(gathered_.data() + place + begin, chunks_.data() + places_[rank],
                    static_cast<std::size_t>(counts_[rank]));
      place += sizes_[rank];
    }
    return true;
  }

  /// Waits for `request` without keeping a processor busy, because ranks may share it.
  bool wait(MPI_Request& request) {
    constexpr int eager_tests = 100;
    for (int tests = 0;; ++tests) {
      int is_done = 0;
      if (!check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE))) return false;
      if (is_done != 0) return true;
      {
        const std::scoped_lock lock(mutex_);
        if (abandoned_) return false;
      }
      if (tests < eager_tests)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  bool check(int code) {
    if (code == MPI_SUCCESS) return true;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    error_.assign(text, static_cast<std::size_t>(length));
    return false;
  }

  std::mutex mutex_;  // guards the members up to the empty line
  std::condition_variable changed_;
  State state_ = State::idle;
  std::function<bool()> work_;
  bool succeeded_ = false;
  bool abandoned_ = false;
  bool leaving_ = false;
  bool initialized_ = false;

  std::chrono::duration<double> timeout_{};
  std::string reported_error_;  // read by the caller
  std::string error_;  // this and the members below: written by the MPI thread, read by the caller after the work
  int rank_ = 0;
  int ranks_ = 1;
  std::vector<char> message_;
  std::vector<std::int64_t> sizes_;
  std::vector<int> counts_;
  std::vector<int> places_;
  std::vector<char> chunks_;
  std::vector<char> gathered_;
};

bool connect(double timeout_seconds, std::int32_t* rank, std::int32_t* ranks) {
  Rank& own = Rank::the_rank();
  if (!own.connect(timeout_seconds)) return false;
  *rank = own.rank();
  *ranks = own.ranks();
  return true;
}

bool all_gather(const char* message, std::int64_t size, const char** gathered, const std::int64_t** sizes) {
  Rank& own = Rank::the_rank();
  if (!own.all_gather(message, size)) return false;
  *gathered = own.gathered();
  *sizes = own.sizes();
  return true;
}

const char* error() { return Rank::the_rank().error(); }

constexpr parallel::DovetailMpiModule module_functions{parallel::dovetail_mpi_module_version, connect, all_gather,
                                                       error};

}  // namespace
}  // namespace dovetail::mpi

extern "C" [[gnu::visibility("default")]] const dovetail::parallel::DovetailMpiModule* dovetail_mpi_module() {
  return &dovetail::mpi::module_functions;
}
