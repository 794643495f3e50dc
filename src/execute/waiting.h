// Stages that wait instead of computing, to replay a schedule at its planned times without a model.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "execute/interpreter.h"
#include "pipeline/program/placement.h"
#include "transport/transport.h"

namespace dovetail::execute {

using transport::Clock;

/// When an op was due to end, and how much later its sleep ended.
struct Moment {
  Clock::time_point due;
  Clock::duration late{};
};

/// Times the ops of a rank by sleeping, and compensates for sleeps that end late. If an op's sleep ends late, the ops
/// that wait for it, on this rank or another, are due as if it had ended on time. Other delays between two ops are not
/// compensated.
class Pace {
 public:
  /// Runs an op of this length that starts now: sleeps until it is due. Returns when it was due and how late the sleep
  /// ended.
  Moment run(Clock::duration length);
  /// Records the arrival of a message, and sleeps until the message is usable: `transfer` after the op that made it was
  /// due to end. `made` is that op's Moment. REQUIRES: the sender has the same clock.
  void arrive(const Moment& made, Clock::duration transfer);
  /// Records that a reduction has synchronized its ranks. Thread-safe.
  void meet() { met_ = Clock::now().time_since_epoch().count(); }

 private:
  /// Records when a dependency of the next op was due, and when it was ready.
  void ready(Clock::time_point due, Clock::time_point there);
  void sleep_until_due();

  Clock::time_point due_;    ///< when everything that the rank waited for was due; at most there_
  Clock::time_point there_;  ///< when everything that the rank waited for was ready
  std::atomic<Clock::rep> met_ = 0;
};

/// Time scale and message size of a replay.
struct Replay {
  transport::Clock::duration tick{};  ///< length of a tick of the problem
  std::size_t message_bytes = 0;      ///< size of each activation and gradient; at least sizeof(Moment) is used
};

/// The workers of a rank whose ops last as long as in the problem, and whose reductions only synchronize. A message is
/// usable after the transfer time between its devices; its sender continues meanwhile. REQUIRES: all ranks are on one
/// machine, because messages carry times of its clock.
class WaitingWorkers {
 public:
  WaitingWorkers(const pipeline::Problem& problem, const pipeline::Placement& placement,
                 const pipeline::Program& program, const Replay& replay);
  /// Returns pointers to workers that this object owns.
  const Workers& workers() const { return workers_; }

 private:
  std::unique_ptr<Pace> pace_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::unique_ptr<Reducer> reducer_;
  Workers workers_;
};

}  // namespace dovetail::execute
