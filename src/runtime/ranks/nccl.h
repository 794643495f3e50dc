// DeviceGroup on c10d process groups, and NCCL between ranks that have one GPU each.
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

/// Wraps a c10d process group. `backend` moves tensors in the memory of `device`. Its work must complete even if wait()
/// is never called. This is true of collectives of all c10d backends and of NCCL's messages.
std::unique_ptr<DeviceGroup> make_c10d_device_group(c10::intrusive_ptr<C10dBackend> backend, const at::Device& device);

/// Returns an Error if this build has no NCCL. The Error states the build requirements.
base::Status check_nccl();

/// Sets environment variables that configure CUDA, NCCL and c10d for ranks, unless they are already set. Must be called
/// before CUDA is initialized.
void set_up_nccl();

/// Claims the GPU for this rank. Returns an Error if another rank has claimed it. REQUIRES: check_nccl().
base::Status claim_gpu(const RankPlace& place, JobStore& store, const at::Device& device);

/// Returns a function that connects the GPUs of ranks by c10d's ProcessGroupNCCL. NCCL connects a group when the
/// group's first work runs, so the returned function runs some work and waits for it. The function throws if `monitor`
/// receives an error of another rank meanwhile, or if the timeout expires. `store` and `monitor` must outlive the
/// function. REQUIRES: check_nccl(); set_up_nccl() was called; the rank has claimed the GPU.
ConnectDevices connect_by_nccl(const RankPlace& place, JobStore& store, const JobMonitor& monitor,
                               const at::Device& device);

}  // namespace dovetail::runtime
