// The time of a rank whose ops sleep: what a sleep lasts too long is no op's time.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/transport.h"

namespace dovetail::execute {

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
