// Transport between processes on c10d's ProcessGroupGloo, for host memory.
#pragma once

#include <memory>
#include <string>

#include "runtime/ranks/job_monitor.h"
#include "runtime/ranks/job_store.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Connects all ranks of a job, over the network interface on which `place` reaches the store, or over
/// GLOO_SOCKET_IFNAME if it is set. On each lane, the numbers of messages in flight between two ranks must differ
/// modulo 2^29.
///
/// A message goes directly from the sender's buffer to the receiver's: it is delivered once the peer has posted the
/// receive. Gloo gets at most a few hundred undelivered messages per peer and direction at a time, and more only while
/// none of them is delivered. A bug that gives the sender's and the receiver's buffers different sizes ends the
/// process.
///
/// The destructor waits up to ten seconds for the other ranks to finish. An Error names the ranks that did not connect.
/// `monitor` must outlive the transport.
base::Result<std::unique_ptr<transport::Transport>> connect_gloo(const RankPlace& place, JobStore& store,
                                                                 JobMonitor& monitor, transport::Deadline deadline);

}  // namespace dovetail::runtime
