// The chains of a search, shared out over threads and processes. They work in rounds; at the border of each all
// processes tell each other what they found, and why they would stop.
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

/// How a search shares its chains out, and what ends it early.
struct SharingOptions {
  int chains = 1;
  int threads = 1;                                          ///< never changes the answer
  std::optional<double> time_limit_seconds = std::nullopt;  ///< from the construction of SharedChains on
  const Cancellation* cancellation = nullptr;               ///< by time: as if the limit were over
  const Exchange* exchange = nullptr;  ///< the processes that share out the chains; absent: this one alone
};

class SharedChains {
 public:
  /// Process r of n has the chains r, r + n, ...
  explicit SharedChains(const SharingOptions& options);

  /// The numbers of this process's chains among all.
  const std::vector<int>& numbers() const { return numbers_; }
  /// Seconds since the construction.
  double seconds() const { return base::seconds_since(begin_); }
  bool is_cancelled() const { return is_requested(options_.cancellation); }
  bool is_late() const { return options_.time_limit_seconds && seconds() >= *options_.time_limit_seconds; }

  /// A round: work(own) for each chain of this process (own: an index of numbers()), of which nothing may depend on the
  /// others, unless it is cancelled; then tell() once, which says what the others are to know. What all processes told,
  /// in order of rank. All processes have to call this equally often. Where one is lost: what this one told, alone, and
  /// lost() says so.
  std::vector<std::string> run(const std::function<void(std::size_t own)>& work,
                               const std::function<std::string()>& tell);

  /// Set at the border of a round, in all processes alike: some process was interrupted or lost, or is late.
  std::optional<EndedBy> ended() const { return ended_; }
  /// The Error of a lost process.
  const std::optional<base::Error>& lost() const { return lost_; }

 private:
  void work_on_all(const std::function<void(std::size_t own)>& work);
  std::string take_reason(std::string message);

  SharingOptions options_;
  std::vector<int> numbers_;
  std::vector<double> last_seconds_;  // [own] what its last round took
  std::optional<EndedBy> ended_;
  std::optional<base::Error> lost_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace dovetail::parallel
