// Messages between processes: the transport on c10d's ProcessGroupGloo, for memory of the host.
#pragma once

#include <memory>
#include <string>

#include "runtime/ranks/job_store.h"
#include "runtime/ranks/job_watch.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Connects all ranks of a job with each other, over the network on which `place` reaches the store (or that of
/// GLOO_SOCKET_IFNAME). Numbers of messages that are under way together between two ranks differ modulo 2^29.
///
/// A message goes straight from its buffer into the room that the peer has made: a send is delivered once the peer has
/// posted its receive. Of those that a peer does not take, or that do not come, Gloo is given a few hundred at a time.
/// The other end may be of another size only by a mistake of ours; it ends the process.
///
/// The end of the transport waits for the other ranks' ends for a few seconds. An Error says which ranks did not come.
/// `watch` outlives the transport.
base::Result<std::unique_ptr<transport::Transport>> connect_gloo(const RankPlace& place, JobStore& store,
                                                                 JobWatch& watch, transport::Deadline deadline);

}  // namespace dovetail::runtime
