// A schedule of ranks: what all groups and merged stages do, with a device for each rank.
#pragma once

#include "pipeline/program/placement.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// The schedule in which device r does what rank r does under `placement`, at the same times: the replicas of all
/// groups are there, and the stages that the models have. Parts of a merged stage share its times as work_of_ranks has
/// it. It has no capacity, and nothing is resident. REQUIRES: the schedule is valid, the placement one of its problem
/// with one rank a stage; no backward is split where stages are merged.
Schedule schedule_of_ranks(const Schedule& schedule, const Placement& placement);

}  // namespace dovetail::pipeline
