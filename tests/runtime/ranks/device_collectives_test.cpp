#include "runtime/ranks/device_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/ranks/collectives_like_ordered.h"
#include "runtime/ranks/thread_devices.h"
#include "transport/threads.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using transport::Clock;
using transport::Collectives;
using transport::Transport;
using namespace std::chrono_literals;

/// What each rank says, as threads that each have a device.
std::vector<std::string> on_ranks(ThreadDevices& devices, const std::function<Status(Transport&, Collectives&)>& work) {
  const auto ends = transport::connect_threads(3);
  std::vector<std::string> said(ends.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ends.size(); ++r)
    threads.emplace_back([&, r] {
      const auto sums = make_device_collectives(*ends[r], devices.of_rank(static_cast<int>(r)));
      const Status status = work(*ends[r], *sums);
      said[r] = status.ok() ? "ok" : base::to_text(status.error());
    });
  for (std::thread& thread : threads) thread.join();
  return said;
}

TEST(DeviceCollectives, SumAndGatherAsThoseInOrderDo) {
  ThreadDevices devices;
  EXPECT_THAT(on_ranks(devices, sum_like_ordered), testing::Each("ok"));
}

/// A sum that rank 1 does not come to.
Status sum_without_rank_1(Transport& end, Collectives& sums, const std::function<void()>& instead,
                          transport::Deadline deadline) {
  const std::vector<int> all{0, 1, 2};
  DOVETAIL_CHECK(sums.open({all}, deadline_of_sums()));
  std::vector<float> values(10, 1);
  DOVETAIL_CHECK(sums.all_reduce({all, 0}, std::span(values), deadline_of_sums()));
  EXPECT_THAT(values, testing::Each(3));
  if (end.rank() != 1) return sums.all_reduce({all, 1}, std::span(values), deadline);
  instead();
  return transport::barrier(end, 0, deadline_of_sums());
}

TEST(DeviceCollectives, AnErrorElsewhereEndsASum) {
  ThreadDevices devices;
  const auto said = on_ranks(devices, [](Transport& end, Collectives& sums) {
    const auto fail = [&] { end.fail({base::Failure::io, "disk", 3, 0, "the disk is full"}); };
    return sum_without_rank_1(end, sums, fail, deadline_of_sums());
  });
  EXPECT_THAT(said, testing::Each("disk:3: the disk is full"));
}

TEST(DeviceCollectives, ADeadlineEndsASum) {
  ThreadDevices devices;
  const auto said = on_ranks(devices, [](Transport& end, Collectives& sums) {
    return sum_without_rank_1(end, sums, [] {}, Clock::now() + 300ms);
  });
  EXPECT_THAT(said, testing::Each(testing::MatchesRegex(
                        "one of the ranks [01], [12] is lost: rank [02] sums with them: it waited in vain")));
}

TEST(DeviceCollectives, WorkThatBreaksEndsASum) {
  ThreadDevices devices;
  const auto said = on_ranks(devices, [&](Transport& end, Collectives& sums) {
    return sum_without_rank_1(end, sums, [&] { devices.break_down("a link is down"); }, deadline_of_sums());
  });
  EXPECT_THAT(said, testing::Each(testing::HasSubstr("sums with them: a link is down")));
}

}  // namespace
}  // namespace dovetail::runtime
