// Ranks as threads of one process, with injected faults: for tests, and for replays without a cluster.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transport/transport.h"

namespace dovetail::transport {

/// A fault of one message: the one that `rank` sends after `send` others.
struct Fault {
  enum class Kind : std::uint8_t {
    delay,  ///< the message is delivered later, by `delay`
    drop,   ///< the message is never delivered
    kill,   ///< the rank is lost, and all other ranks are notified
  };
  Kind kind = Kind::delay;
  int rank = 0;
  int send = 0;
  Clock::duration delay{};
};

/// Connects `ranks` ranks within this process and returns their endpoints: [rank]. A message is delivered once it is
/// sent and its buffer is posted.
std::vector<std::unique_ptr<Transport>> connect_threads(int ranks, const std::vector<Fault>& faults = {});

}  // namespace dovetail::transport
