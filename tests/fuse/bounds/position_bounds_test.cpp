#include "fuse/bounds/position_bounds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace dovetail::fuse {
namespace {

using base::Ticks;

Job job(std::int64_t head, std::int64_t duration, std::int64_t tail) {
  return {Ticks(head), Ticks(duration), Ticks(tail)};
}

TEST(PreemptiveOneMachine, NoJobsNeedNoTime) { EXPECT_EQ(preemptive_one_machine({}), Ticks(0)); }

TEST(PreemptiveOneMachine, OneJobIsItsHeadWorkAndTail) { EXPECT_EQ(preemptive_one_machine({job(3, 5, 7)}), Ticks(15)); }

TEST(PreemptiveOneMachine, AJobWithoutDurationStillHasItsHeadAndTail) {
  EXPECT_EQ(preemptive_one_machine({job(4, 0, 9), job(0, 6, 0)}), Ticks(13));
}

TEST(PreemptiveOneMachine, TheLongerTailPreempts) {
  // Without preemption the long job delays the urgent one (0-10, then 10-12 + 20 = 32). With it: 1-3 + 20 = 23.
  EXPECT_EQ(preemptive_one_machine({job(0, 10, 0), job(1, 2, 20)}), Ticks(23));
}

TEST(PreemptiveOneMachine, WaitsForTheNextRelease) {
  EXPECT_EQ(preemptive_one_machine({job(0, 1, 0), job(10, 2, 1)}), Ticks(13));
}

TEST(PreemptiveOneMachine, CarliersExample) {
  // Carlier 1982, seven jobs: the preemptive optimum is 49, the non-preemptive one 50.
  const std::vector<Job> jobs{job(10, 5, 7), job(13, 6, 26), job(11, 7, 24), job(20, 4, 21),
                              job(30, 3, 8), job(0, 6, 17),  job(30, 2, 0)};
  EXPECT_EQ(preemptive_one_machine(jobs), Ticks(49));
}

Ticks max_over_subsets(const std::vector<Job>& jobs) {
  Ticks largest;
  for (std::size_t subset = 1; subset < std::size_t{1} << jobs.size(); ++subset) {
    Ticks head = Ticks::max();
    Ticks work;
    Ticks tail = Ticks::max();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if ((subset >> i & 1) == 0) continue;
      head = std::min(head, jobs[i].head);
      work += jobs[i].duration;
      tail = std::min(tail, jobs[i].tail);
    }
    largest = std::max(largest, head + work + tail);
  }
  return largest;
}

RC_GTEST_PROP(PreemptiveOneMachineProperty, IsTheLargestHeadWorkTailOfASubset, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 9);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < count; ++i)
    jobs.push_back(job(*rc::gen::inRange(0, 20), *rc::gen::inRange(0, 8), *rc::gen::inRange(0, 20)));
  RC_ASSERT(preemptive_one_machine(jobs).count() == max_over_subsets(jobs).count());
}

}  // namespace
}  // namespace dovetail::fuse
