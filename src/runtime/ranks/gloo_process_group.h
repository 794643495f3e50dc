// c10d's group of processes with Gloo, between some or all ranks of a job.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_place.h"

namespace dovetail::runtime {

/// Connects `ranks`, of which this one is one, each with each, over the network on which `place` reaches the store (or
/// that of GLOO_SOCKET_IFNAME). They meet under `name`, which no other group of the job has. Throws std::exception
/// where they do not reach each other within `timeout`, which is that of each of the group's collectives, too.
c10::intrusive_ptr<c10d::ProcessGroupGloo> connect_process_group(const RankPlace& place, JobStore& store,
                                                                 const std::string& name, const std::vector<int>& ranks,
                                                                 std::chrono::milliseconds timeout);

}  // namespace dovetail::runtime
