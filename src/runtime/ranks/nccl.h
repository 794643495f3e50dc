// NCCL, for ranks that have a GPU each.
#pragma once

#include <c10/core/Device.h>

#include "base/result.h"
#include "runtime/ranks/device_group.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/job_watch.h"
#include "runtime/ranks/rank_place.h"

namespace dovetail::runtime {

/// Whether this build has NCCL: an Error that says what one with it needs.
base::Status check_nccl();

/// Says to CUDA, NCCL and c10d how ranks use them, by variables of the environment, where it does not say otherwise. To
/// be called before CUDA is there.
void set_up_nccl();

/// Takes the GPU for this rank. An Error where another rank has it. REQUIRES: check_nccl().
base::Status claim_gpu(const RankPlace& place, JobStore& store, const at::Device& device);

/// What connects the GPUs of ranks by c10d's ProcessGroupNCCL. A new group does its first work before it is given out:
/// its connections are there then. An error of another rank that `watch` hears of ends the wait for the others. `store`
/// and `watch` must stay. REQUIRES: check_nccl(); set_up_nccl() was called, and the rank has claimed the GPU.
ConnectDevices connect_by_nccl(const RankPlace& place, JobStore& store, const JobWatch& watch,
                               const at::Device& device);

}  // namespace dovetail::runtime
