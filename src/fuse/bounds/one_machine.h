// One machine, jobs that become ready one by one and have work elsewhere afterwards: the problem behind each device's
// bound.
#pragma once

#include <vector>

#include "base/quantity.h"

namespace dovetail::fuse {

/// Work of one machine: it cannot start before `head`, and at least `tail` follows its end.
struct Job {
  base::Ticks head;
  base::Ticks duration;
  base::Ticks tail;
};

/// The least time, over preemptive schedules of one machine, by which every job has ended and its tail has passed
/// (Jackson's rule: always the ready job with the longest tail). Equal to the largest, over subsets of jobs, of least
/// head + work + least tail.
base::Ticks preemptive_one_machine(std::vector<Job> jobs);

}  // namespace dovetail::fuse
