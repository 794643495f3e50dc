// A group of processes of c10d as a DeviceGroup.
#pragma once

#include <c10/core/Device.h>
#include <torch/version.h>

#include <memory>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

#include "runtime/ranks/device_group.h"

namespace dovetail::runtime {

#if TORCH_VERSION_MAJOR >= 2
using C10dBackend = c10d::Backend;
#else
using C10dBackend = c10d::ProcessGroup;
#endif

/// `backend` moves tensors of `device`: the group's memory is that device's. What it does must say by itself that it is
/// done, as collectives of all of c10d's libraries and messages of NCCL do.
std::unique_ptr<DeviceGroup> make_c10d_device_group(c10::intrusive_ptr<C10dBackend> backend, const at::Device& device);

}  // namespace dovetail::runtime
