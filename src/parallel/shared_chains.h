// Distributes the chains of a search (its random walks over solutions) over threads and processes. The chains run in
// rounds. After each round, all processes exchange their results and their reasons to stop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stopwatch.h"
#include "parallel/cancellation.h"
#include "parallel/exchange.h"

namespace dovetail::parallel {

/// How a search distributes its chains, and when it ends early.
struct SharingOptions {
  int chains = 1;
  int threads = 1;  ///< number of threads; affects the result only through a time limit

  /// Time limit, counted from the construction of SharedChains
  std::optional<double> time_limit_seconds = std::nullopt;
  const Cancellation* cancellation = nullptr;  ///< a time limit in it acts like time_limit_seconds
  const Exchange* exchange = nullptr;          ///< processes that share the chains; null: only this process
};

class SharedChains {
 public:
  /// Assigns the chains r, r + n, ... to process r of n.
  explicit SharedChains(const SharingOptions& options);

  /// Returns the global numbers of this process's chains.
  const std::vector<int>& numbers() const { return numbers_; }
  /// Returns the seconds since construction.
  double seconds() const { return base::seconds_since(begin_); }
  bool is_cancelled() const { return is_requested(options_.cancellation); }
  bool is_late() const { return options_.time_limit_seconds && seconds() >= *options_.time_limit_seconds; }

  /// Runs a round and returns the messages of all processes, in rank order. Calls work(own) for each chain of this
  /// process, unless cancelled. Then calls report() once, which returns the message to send. `own` is an index into
  /// numbers(). Calls for different chains must be independent.
  ///
  /// All processes must call this the same number of times. If a process is lost, returns only this process's message
  /// and sets lost().
  std::vector<std::string> run(const std::function<void(std::size_t own)>& work,
                               const std::function<std::string()>& report);

  /// Returns why the search must end; nullopt if it may continue. A round sets the reason to `interrupt` if any process
  /// was interrupted or lost, otherwise to `time` if the time limit of any process expired. All processes that are not
  /// lost get the same reason.
  std::optional<EndedBy> ended() const { return ended_; }
  /// Returns the Error about a lost process, or nullopt.
  const std::optional<base::Error>& lost() const { return lost_; }

 private:
  void work_on_all(const std::function<void(std::size_t own)>& work);
  std::string take_reason(std::string message);

  SharingOptions options_;
  std::vector<int> numbers_;
  std::vector<double> last_seconds_;  // [own] seconds that the chain took in its last round
  std::optional<EndedBy> ended_;
  std::optional<base::Error> lost_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace dovetail::parallel
