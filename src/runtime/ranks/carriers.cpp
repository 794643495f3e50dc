#include "runtime/ranks/carriers.h"

#include "runtime/ranks/device_collectives.h"
#include "runtime/ranks/device_transport.h"
#include "runtime/ranks/gloo_collectives.h"
#include "runtime/ranks/gloo_transport.h"
#include "runtime/ranks/nccl.h"

namespace dovetail::runtime {

base::Result<RankWays> connect_ranks(const RankSession& session, transport::CarrierKind carrier,
                                     transport::CollectiveKind sums, const at::Device& device,
                                     transport::Deadline deadline) {
  RankWays ways;
  DOVETAIL_TRY(ways.transport, connect_gloo(session.place, session.store, session.watch, deadline));
  ConnectDevices by_nccl;
  if (carrier == transport::CarrierKind::nccl) {
    DOVETAIL_CHECK(claim_gpu(session.place, session.store, device));
    by_nccl = connect_by_nccl(session.place, session.store, session.watch, device);
    ways.transport = make_device_transport(std::move(ways.transport), by_nccl, &session.watch);
  }
  if (sums == transport::CollectiveKind::ordered)
    ways.collectives = std::make_unique<transport::OrderedCollectives>(*ways.transport);
  else if (by_nccl)
    ways.collectives = make_device_collectives(*ways.transport, by_nccl);
  else
    ways.collectives = make_gloo_collectives(session.place, session.store, *ways.transport);
  return ways;
}

}  // namespace dovetail::runtime
