#include "execute/waiting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "pipeline/program/compile.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"
#include "transport/threads.h"

namespace dovetail::execute {
namespace {

using namespace std::chrono_literals;

TEST(WaitingWorkers, TakeAtLeastTheSchedulesMakespan) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    test::RandomProblemOptions options;
    options.transfers = false;
    const pipeline::Schedule schedule = test::random_schedule(test::random_problem(seed, options), seed);
    const pipeline::Placement placement = rank_per_device(schedule.problem);
    const auto programs = pipeline::compile(schedule, placement, exchanges_of(schedule.problem));
    ASSERT_TRUE(programs.ok());
    const auto ends = transport::connect_threads(schedule.problem.devices);
    std::vector<std::thread> threads;
    std::vector<base::Status> results(ends.size());
    const auto begin = transport::Clock::now();
    for (std::size_t r = 0; r < ends.size(); ++r)
      threads.emplace_back([&, r] {
        const WaitingWorkers workers(schedule.problem, placement, (*programs)[r], {1ms, 1'000});
        const auto trace = run((*programs)[r], workers.workers(), *ends[r], {20s, 0});
        if (!trace.ok()) results[r] = trace.error();
      });
    for (std::thread& thread : threads) thread.join();
    const auto took = transport::Clock::now() - begin;
    for (const base::Status& status : results) EXPECT_TRUE(status.ok());
    EXPECT_GE(took, 1ms * schedule.claims.makespan->count());
  }
}

}  // namespace
}  // namespace dovetail::execute
