// NCCL, for ranks that have a GPU each.
#pragma once

#include <c10/core/Device.h>

#include "base/result.h"
#include "runtime/ranks/device_group.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_place.h"

namespace dovetail::runtime {

/// Whether this build has NCCL: an Error that says what one with it needs.
base::Status check_nccl();

/// What connects the GPUs of ranks by c10d's ProcessGroupNCCL. A new group does its first work before it is given out:
/// its connections are there then. `device`: this rank's, which no other rank has. `store` must stay. REQUIRES:
/// check_nccl().
ConnectDevices connect_by_nccl(const RankPlace& place, JobStore& store, const at::Device& device);

}  // namespace dovetail::runtime
