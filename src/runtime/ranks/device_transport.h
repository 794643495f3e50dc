// Transport and collectives between the devices of ranks.
#pragma once

#include <memory>

#include "runtime/ranks/device_group.h"
#include "runtime/ranks/job_monitor.h"
#include "transport/collectives.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Creates a transport for ranks with one device each. Messages of Lane::programs are in device memory and use groups
/// that `connect` creates. All other messages, and every error, use `host`.
///
/// Each channel has a separate group, so a message waits only for earlier messages of its channel. Messages of a
/// channel must be sent and received in the order of their numbers; programs that pass pipeline::check do so. Only one
/// thread may use Lane::programs. `monitor` may be null and must outlive the transport.
std::unique_ptr<transport::Transport> make_device_transport(std::unique_ptr<transport::Transport> host,
                                                            ConnectDevices connect, JobMonitor* monitor);

/// Creates collectives that work in place on device memory. `connect` creates one DeviceGroup per opened group of
/// ranks. The shares of ranks may differ in size by one element, which no library's reduce_scatter supports. So a
/// separate reduce or broadcast transfers each share.
///
/// An error of `transport` ends all waits, and an error of a collective makes the transport fail. `transport` must
/// outlive the result.
std::unique_ptr<transport::Collectives> make_device_collectives(transport::Transport& transport,
                                                                ConnectDevices connect);

}  // namespace dovetail::runtime
