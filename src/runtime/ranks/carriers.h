// The ways of a run's ranks to each other.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "base/result.h"
#include "runtime/ranks/run_rank.h"
#include "transport/carrier.h"
#include "transport/collectives.h"
#include "transport/transport.h"

namespace dovetail::runtime {

struct RankWays {
  std::unique_ptr<transport::Transport> transport;
  std::unique_ptr<transport::Collectives> collectives;  ///< the transport outlives it
};

/// Connects this rank, which computes on `device`, with all others. Where NCCL carries, an Error says that another rank
/// has this GPU. REQUIRES: check_nccl() then.
base::Result<RankWays> connect_ranks(const RankSession& session, transport::CarrierKind carrier,
                                     transport::CollectiveKind sums, const at::Device& device,
                                     transport::Deadline deadline);

}  // namespace dovetail::runtime
