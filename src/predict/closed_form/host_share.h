// What of an optimizer that is stepped on the host is there.
#pragma once

#include <cmath>
#include <cstdint>

#include "cost/conventions.h"
#include "plan/task_plan.h"

namespace dovetail::predict {

/// The share of a role's optimizer that is kept in host memory and stepped there: 0 where all of it is the device's.
inline double host_share(const plan::TaskPlan& planned, const cost::Conventions& conventions) {
  return planned.offload.optimizer_on_host ? conventions.optimizer_host_share : 0;
}

/// That share of so many bytes.
inline std::int64_t part_of(std::int64_t bytes, double share) {
  return std::llround(static_cast<double>(bytes) * share);
}

}  // namespace dovetail::predict
