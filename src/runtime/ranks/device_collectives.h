// Sums over the devices of ranks.
#pragma once

#include <memory>

#include "runtime/ranks/device_group.h"
#include "transport/collectives.h"

namespace dovetail::runtime {

/// Collectives of device memory, in place, by groups that `connect` makes: one for each group of ranks that is opened.
/// Shares differ in size by one, which no library's own reduce_scatter takes: each is a reduction to the rank that has
/// it, and a broadcast from it.
///
/// An error of `transport` ends all waits, and an error here is the transport's. `transport` outlives it.
std::unique_ptr<transport::Collectives> make_device_collectives(transport::Transport& transport,
                                                                ConnectDevices connect);

}  // namespace dovetail::runtime
