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

TEST(WaitingWorkers, TakeAtLeastTheMakespan) {
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

using namespace std::chrono_literals;

/// Expects that an op without length is due as if it had begun `late` before now.
void expect_credit(Pace& pace, Clock::duration late) {
  const Clock::time_point before = Clock::now();
  const Moment moment = pace.run(0ms);
  EXPECT_GE(moment.due + late, before);
  EXPECT_LE(moment.due + late, Clock::now());
}

TEST(Pace, OpsDoNotEndBeforeTheyAreDue) {
  Pace pace;
  const Clock::time_point begin = Clock::now();
  const Moment first = pace.run(2ms);
  EXPECT_GE(first.due, begin + 2ms);
  EXPECT_GE(Clock::now(), first.due + first.late);
  // The delay of the first sleep does not count for the second op.
  expect_credit(pace, first.late);
}

TEST(Pace, LateSleepsOfOthersGiveNoCreditForOwnOps) {
  Pace pace;
  const Moment own = pace.run(2ms);
  // The message was due before the rank's own op and arrived after it.
  std::this_thread::sleep_for(3ms);
  pace.arrive({own.due - 1ms, own.late + 2ms}, 0ms);
  EXPECT_GE(pace.run(2ms).due, own.due + 2ms);
}

TEST(Pace, LateSleepsOfTheSenderAreCompensated) {
  Pace pace;
  pace.arrive({Clock::now() - 10ms, 4ms}, 0ms);
  expect_credit(pace, 4ms);
}

TEST(Pace, TransfersHideLateSleepsOfTheSender) {
  Pace pace;
  pace.arrive({Clock::now() - 10ms, 4ms}, 3ms);
  expect_credit(pace, 1ms);
  Pace other;
  other.arrive({Clock::now() - 10ms, 4ms}, 5ms);
  expect_credit(other, 0ms);
}

TEST(Pace, MessagesAreUsableAfterTheirTransfer) {
  Pace pace;
  const Clock::time_point made = Clock::now();
  pace.arrive({made, 0ms}, 5ms);
  EXPECT_GE(Clock::now(), made + 5ms);
  EXPECT_GE(pace.run(0ms).due, made + 5ms);
}

TEST(Pace, OpsDoNotBeginBeforeAMeeting) {
  Pace pace;
  pace.arrive({Clock::now() - 10ms, 4ms}, 0ms);
  const Clock::time_point before = Clock::now();
  pace.meet();
  EXPECT_GE(pace.run(0ms).due, before);
}

}  // namespace
}  // namespace dovetail::execute
