// Stages that wait in place of computing: a schedule replayed at its own times, without a model.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "execute/interpreter.h"
#include "pipeline/program/placement.h"
#include "transport/transport.h"

namespace dovetail::execute {

/// How a problem is replayed.
struct Replay {
  transport::Clock::duration tick{};  ///< what a tick of the problem's durations takes
  std::size_t message_bytes = 0;      ///< of each activation and gradient; a few more where they do not hold a time
};

/// The workers of a rank whose ops last as long as the problem says, and whose reductions only meet. A message can be
/// taken once the transfer between its devices has passed since it was made; meanwhile its sender goes on. REQUIRES:
/// the ranks are on one machine: messages say when they were made, by its clock.
class WaitingWorkers {
 public:
  WaitingWorkers(const pipeline::Problem& problem, const pipeline::Placement& placement,
                 const pipeline::Program& program, const Replay& replay);
  /// Points at what this owns.
  const Workers& workers() const { return workers_; }

 private:
  std::unique_ptr<Pace> pace_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::unique_ptr<Reducer> reducer_;
  Workers workers_;
};

using transport::Clock;

/// When an op was due to end, and how much later its sleep did end.
struct Moment {
  Clock::time_point due;
  Clock::duration late{};
};

/// Lets ops last as long as they should. A sleep ends late, by what the machine pleases; what comes behind it, on the
/// rank or on another that waited for it, is due as if it had ended in time, but no sooner than all that it waits for
/// was due. All else that happens between two ops counts.
class Pace {
 public:
  /// An op of that length, from now on.
  Moment run(Clock::duration length);
  /// A message that was made then is there, and can be taken `transfer` later. REQUIRES: its maker has the same clock.
  void arrive(const Moment& made, Clock::duration transfer);
  /// Ranks have met. Any thread may call it.
  void meet() { met_ = Clock::now().time_since_epoch().count(); }

 private:
  /// Something more that the next op waits for: when it was due, and when it was there.
  void ready(Clock::time_point due, Clock::time_point there);
  void sleep_until_due();

  Clock::time_point due_;    ///< when all that the rank waited for was due: no later than it was there
  Clock::time_point there_;  ///< when it was
  std::atomic<Clock::rep> met_ = 0;
};

}  // namespace dovetail::execute
