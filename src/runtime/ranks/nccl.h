// c10d process groups as groups of devices, and NCCL between ranks that have one GPU each.
#pragma once

#include <c10/core/Device.h>
#include <torch/version.h>

#include <memory>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

#include "base/result.h"
#include "runtime/ranks/device_group.h"
#include "runtime/ranks/job_monitor.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_place.h"

namespace dovetail::runtime {

#if TORCH_VERSION_MAJOR >= 2
using C10dBackend = c10d::Backend;
#else
using C10dBackend = c10d::ProcessGroup;
#endif

/// Wraps a c10d process group. `backend` moves tensors of `device`, which is the group's memory. Its work must complete
/// without a wait, as collectives of all c10d libraries and messages of NCCL do.
std::unique_ptr<DeviceGroup> make_c10d_device_group(c10::intrusive_ptr<C10dBackend> backend, const at::Device& device);

/// Returns an Error with the build requirements if this build has no NCCL.
base::Status check_nccl();

/// Sets environment variables that configure CUDA, NCCL and c10d for ranks, unless they are already set. Must precede
/// the initialization of CUDA.
void set_up_nccl();

/// Claims the GPU for this rank. Returns an Error if another rank has it. REQUIRES: check_nccl().
base::Status claim_gpu(const RankPlace& place, JobStore& store, const at::Device& device);

/// Returns a function that connects the GPUs of ranks by c10d's ProcessGroupNCCL. It runs the first work of a new
/// group, so that the group is connected when it returns. An error of another rank that `monitor` receives ends the
/// wait. `store` and `monitor` must outlive the function. REQUIRES: check_nccl(); set_up_nccl() was called; the rank
/// has claimed the GPU.
ConnectDevices connect_by_nccl(const RankPlace& place, JobStore& store, const JobMonitor& monitor,
                               const at::Device& device);

}  // namespace dovetail::runtime
