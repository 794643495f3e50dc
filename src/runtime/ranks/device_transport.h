// Messages between the devices of ranks.
#pragma once

#include <memory>

#include "runtime/ranks/device_group.h"
#include "runtime/ranks/job_watch.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// The transport of ranks with a device each: messages of Lane::programs are of device memory and go by groups that
/// `connect` makes; all else goes by `host`, and so does every error. Each channel has a group of its own, so that a
/// message waits for those before it on its channel and for no other. On a channel messages must be said and taken in
/// the order of their numbers: programs that pipeline::check finds sound do. Lane::programs is used by one thread.
///
/// `watch` may be null; it outlives the transport.
std::unique_ptr<transport::Transport> make_device_transport(std::unique_ptr<transport::Transport> host,
                                                            ConnectDevices connect, JobWatch* watch);

}  // namespace dovetail::runtime
