// A rank's word with the store of its job, by a thread of its own: no wait for a store holds a rank's work up.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/ranks/error_text.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_note.h"

namespace dovetail::runtime {

/// Gives a sign of life, and hears of the first error of any rank, several times a second. The functions return within
/// seconds, also where the store hangs. Errors of lost ranks begin with the phase of the rank that says them.
class JobWatch {
 public:
  JobWatch(std::unique_ptr<JobStore> store, int rank, int ranks);
  /// A thread that a store holds up is left to itself.
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  /// What the store tells of this rank from soon on, without a wait.
  void note(const RankNote& note);
  /// What gives the phase of the last note, also when the watch is gone.
  std::function<std::string()> phase() const;

  /// The first error, where this rank has heard of one: also that the store is gone.
  std::optional<base::Error> first_error() const;
  /// Calls `hear` with it from the thread of the watch, once: at once where there is one already. Nothing: no more,
  /// and none is under way.
  void on_error(std::function<void(const base::Error&)> hear);

  /// Says an error to all ranks, and gives the first that one said, also to whoever says another one later. A store
  /// that is gone gives the rank its own.
  RankError say(const base::Error& error);

  /// The ranks that give no sign of life for half a second from now on: stopped, hung in the system, or ended.
  std::vector<int> silent_ranks();

  /// Says that this rank is done, and waits until all are; not where there is an error, nor longer than `limit`.
  void leave(std::chrono::milliseconds limit);
  /// The same of a rank that others need to hear of an error: it waits for them in spite of one.
  void outlast(std::chrono::milliseconds limit);

 private:
  struct State;
  base::Error placed(const base::Error& error) const;
  void wait_for_all(std::chrono::milliseconds limit, bool stops_at_error);

  std::shared_ptr<State> state_;
  int rank_;
  int ranks_;
};

}  // namespace dovetail::runtime
