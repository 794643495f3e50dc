// What this machine reaches: the figures of a GPU that is a processor, and its links.
#pragma once

#include <vector>

#include "base/result.h"
#include "cost/profile.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// What a rank reaches with the threads that it has.
struct RankSpeed {
  double bytes_per_second = 0;  ///< of reading memory
  double flops_per_second = 0;  ///< of products of fp32 matrices
};
RankSpeed measure_speed();

/// Seconds of messages from rank 0 to rank 1 and back, a half each, and of sums over all ranks: nothing of one rank.
/// What rank 0 says is what it measured. `number`: as transport::control_address, and the next hundred are free.
base::Result<std::vector<cost::LinkProfile>> measure_links(transport::Transport& transport, std::uint32_t number,
                                                           transport::Clock::duration timeout);

}  // namespace dovetail::runtime
