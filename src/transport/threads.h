// Ranks as threads of one process, with faults on demand: for tests, and for schedules replayed without a cluster.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transport/transport.h"

namespace dovetail::transport {

/// What goes wrong with a rank's n-th send, from 0.
struct Fault {
  enum class Kind : std::uint8_t {
    delay,  ///< it takes that much longer
    drop,   ///< it is never delivered
    kill,   ///< the rank is lost with it, which all others are told
  };
  Kind kind = Kind::delay;
  int rank = 0;
  int send = 0;
  Clock::duration delay{};
};

/// The ends of `ranks` ranks that are threads of this process, one each. A message is delivered once it is sent and
/// there is room for it.
std::vector<std::unique_ptr<Transport>> connect_threads(int ranks, const std::vector<Fault>& faults = {});

}  // namespace dovetail::transport
