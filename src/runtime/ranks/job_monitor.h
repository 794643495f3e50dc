// Thread in which a rank communicates with its job's store, so that a slow store does not delay the rank's work. Also
// composes the errors that end waits for other ranks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_note.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Sends a heartbeat and polls for the first error of any rank, several times a second. If the store hangs,
/// functions return within seconds. Errors about lost ranks begin with the phase of the rank that reports them.
class JobMonitor {
 public:
  JobMonitor(std::unique_ptr<JobStore> store, int rank, int ranks);
  /// Ends the monitor's thread, which talks to the store. If the store blocks this thread for 2 seconds, leaves it
  /// running.
  ~JobMonitor();
  JobMonitor(const JobMonitor&) = delete;
  JobMonitor& operator=(const JobMonitor&) = delete;

  /// Publishes a note about this rank in the store, without waiting for the store.
  void note(const RankNote& note);
  /// Returns a function that returns the phase of the last note. The function stays valid after the monitor is
  /// destroyed.
  std::function<std::string()> phase() const;

  /// Returns the first error that this rank has received, including the loss of the store.
  std::optional<base::Error> first_error() const;
  /// Calls `handler` once with the first error. If there already is one, the call is made before this function returns;
  /// otherwise, later, in the monitor's thread. An empty `handler` removes the previous one and waits until its call,
  /// if any, has returned.
  void on_error(std::function<void(const base::Error&)> handler);

  /// Reports an error to all ranks. Returns the first error that any rank reported, which may be another one. Later
  /// calls return the same error. If the store is gone, returns this rank's error.
  RankError report_error(const base::Error& error);

  /// Waits half a second and returns the ranks that sent no heartbeat in that time. Such ranks are stopped, hang in the
  /// kernel, or have ended. Returns no ranks if the store does not respond.
  std::vector<int> unresponsive_ranks();

  /// Marks this rank as done and waits until all others are done. An error or `limit` ends the wait.
  void leave(std::chrono::milliseconds limit);
  /// Like leave, but an error does not end the wait, so that the other ranks can receive it.
  void leave_despite_errors(std::chrono::milliseconds limit);

 private:
  struct State;
  base::Error placed(const base::Error& error) const;
  void wait_for_all(std::chrono::milliseconds limit, bool stops_at_error);

  std::shared_ptr<State> state_;
  int rank_;
  int ranks_;
};

std::string_view name_of(transport::Lane lane);

/// Returns, for example, "message 7 (programs) from rank 2".
std::string text_of(const transport::Address& message);

/// Returns the error for a broken connection to a peer. `action` describes what this rank was doing, as in "waited for
/// message 7".
base::Error lost_peer_error(int peer, int rank, std::string_view action, std::string_view reason);

/// Returns the error for a missed deadline. `action` describes what this rank was doing, as in "timed out waiting for
/// message 7". If `monitor` is not null, the error names the ranks without a heartbeat.
base::Error deadline_error(int rank, std::string_view action, JobMonitor* monitor);

/// Returns the time since `begin`, for example "1.5 s".
std::string seconds_since(transport::Clock::time_point begin);

/// Makes the transport fail because a collective of `ranks`, which include this rank, failed. This ends all waits.
/// Prefers the error of another rank if one arrives within half a second. `action` describes what this rank was doing,
/// as in "was summing with". Returns the error that ended the waits.
base::Status fail_collective(transport::Transport& transport, const std::vector<int>& ranks, std::string_view action,
                             std::string_view reason);

}  // namespace dovetail::runtime
