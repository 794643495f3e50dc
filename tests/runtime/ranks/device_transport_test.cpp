#include "runtime/ranks/device_transport.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
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
using transport::Buffer;
using transport::Channel;
using transport::Clock;
using transport::Deadline;
using transport::Lane;
using transport::Transport;
using namespace std::chrono_literals;

Deadline soon() { return Clock::now() + 20s; }

Buffer text_buffer(const std::string& text) {
  Buffer buffer = transport::make_buffer(text.size());
  if (!text.empty()) std::memcpy(buffer.data, text.data(), text.size());
  return buffer;
}

std::string text_of(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data), buffer.size}; }

/// Returns a text whose length depends on its number; the first is empty.
std::string text_of_number(std::uint32_t number) {
  return std::string(number % 5, static_cast<char>('a' + number % 7));
}

/// Runs `work` on each rank, as threads with one device each, and returns the result of each.
std::vector<std::string> on_ranks(int ranks, ThreadDevices& devices, const std::function<Status(Transport&)>& work) {
  auto ends = transport::connect_threads(ranks);
  std::vector<std::string> results(ends.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ends.size(); ++r)
    threads.emplace_back([&, r] {
      const auto end = make_device_transport(std::move(ends[r]), devices.of_rank(static_cast<int>(r)), nullptr);
      const Status status = work(*end);
      results[r] = status.ok() ? "ok" : base::to_text(status.error());
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::vector<std::string> on_ranks(int ranks, const std::function<Status(Transport&)>& work) {
  ThreadDevices devices;
  return on_ranks(ranks, devices, work);
}

/// Exchanges messages on a ring, received in the opposite order, and a sum over the host transport.
Status pass_around(Transport& end) {
  const int next = (end.rank() + 1) % end.ranks();
  const int before = (end.rank() + end.ranks() - 1) % end.ranks();
  std::vector<Channel> channels{{end.rank(), next}, {before, end.rank()}};
  std::sort(channels.begin(), channels.end());
  DOVETAIL_CHECK(end.open(channels, soon()));
  DOVETAIL_CHECK(end.open(channels, soon()));
  constexpr std::uint32_t count = 30;
  std::vector<Buffer> buffers;
  for (std::uint32_t number = 0; number < count; ++number) {
    end.send({next, Lane::programs, number}, text_buffer(text_of_number(number)));
    buffers.push_back(transport::make_buffer(number % 5));
    end.receive({before, Lane::programs, number}, buffers.back());
  }
  DOVETAIL_CHECK(transport::barrier(end, 0, soon()));
  for (std::uint32_t number = count; number-- > 0;) {
    DOVETAIL_CHECK(end.wait({before, Lane::programs, number}, soon()));
    EXPECT_EQ(text_of(buffers[number]), text_of_number(number));
  }
  std::vector<double> values{1, 2, 3};
  std::vector<int> all;
  for (int rank = 0; rank < end.ranks(); ++rank) all.push_back(rank);
  DOVETAIL_CHECK(transport::all_reduce(end, {all, 0}, std::span(values), soon()));
  EXPECT_THAT(values, testing::ElementsAre(end.ranks(), 2 * end.ranks(), 3 * end.ranks()));
  return end.flush(Lane::programs, soon());
}

TEST(DeviceTransport, CarriesProgramsBetweenDevicesAndOtherMessagesByTheHost) {
  EXPECT_THAT(on_ranks(2, pass_around), testing::Each("ok"));
  EXPECT_THAT(on_ranks(5, pass_around), testing::Each("ok"));
}

/// Waits for a message that no rank sends.
Status wait_in_vain(Transport& end, Clock::duration limit) {
  if (end.rank() < 2) DOVETAIL_CHECK(end.open({{1, 0}}, soon()));
  if (end.rank() != 0) return transport::barrier(end, 0, soon());
  end.receive({1, Lane::programs, 7}, transport::make_buffer(8));
  return end.wait({1, Lane::programs, 7}, Clock::now() + limit);
}

TEST(DeviceTransport, ADeadlineNamesRankAndMessage) {
  EXPECT_THAT(on_ranks(2, [](Transport& end) { return wait_in_vain(end, 300ms); }),
              testing::Each(testing::MatchesRegex(
                  "rank 0 timed out after 0\\.[3-9] s waiting for message 7 \\(programs\\) from rank 1")));
}

TEST(DeviceTransport, AMessageThatIsNotReceivedIsNotDelivered) {
  const auto results = on_ranks(2, [](Transport& end) -> Status {
    DOVETAIL_CHECK(end.open({{0, 1}}, soon()));
    if (end.rank() == 1) return transport::barrier(end, 0, soon());
    end.send({1, Lane::programs, 0}, text_buffer("activation"));
    return end.flush(Lane::programs, Clock::now() + 300ms);
  });
  EXPECT_THAT(results,
              testing::Each(testing::MatchesRegex(
                  "rank 0 timed out after 0\\.[3-9] s waiting for rank 1 to receive its messages \\(programs\\)")));
}

TEST(DeviceTransport, AnErrorElsewhereEndsAWait) {
  ThreadDevices devices;
  const auto results = on_ranks(3, devices, [](Transport& end) {
    if (end.rank() == 2) end.fail({base::Failure::io, "disk", 3, 0, "the disk is full"});
    return wait_in_vain(end, 20s);
  });
  EXPECT_THAT(results, testing::Each("disk:3: the disk is full"));
}

TEST(DeviceTransport, FailedWorkNamesThePeer) {
  ThreadDevices devices;
  const auto results = on_ranks(2, devices, [&](Transport& end) {
    if (end.rank() == 0) return wait_in_vain(end, 20s);
    std::thread breaks([&] {
      std::this_thread::sleep_for(200ms);
      devices.break_down("a link is down");
    });
    Status status = wait_in_vain(end, 20s);
    breaks.join();
    return status;
  });
  EXPECT_THAT(results,
              testing::Each("rank 1 is lost: rank 0 waited for message 7 (programs) from rank 1: a link is down"));
}

TEST(DeviceTransport, ADeviceThatDoesNotConnectIsLost) {
  const auto results = on_ranks(2, [](Transport& end) -> Status {
    if (end.rank() == 0) return end.open({{0, 1}}, Clock::now() + 300ms);
    return transport::barrier(end, 0, soon());
  });
  EXPECT_THAT(results, testing::Each("rank 1 is lost: rank 0 was connecting to it: a device did not connect"));
}

using transport::Collectives;

/// Runs `work` on three ranks, as threads with one device each, and returns the result of each.
std::vector<std::string> on_ranks(ThreadDevices& devices, const std::function<Status(Transport&, Collectives&)>& work) {
  const auto ends = transport::connect_threads(3);
  std::vector<std::string> results(ends.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ends.size(); ++r)
    threads.emplace_back([&, r] {
      const auto sums = make_device_collectives(*ends[r], devices.of_rank(static_cast<int>(r)));
      const Status status = work(*ends[r], *sums);
      results[r] = status.ok() ? "ok" : base::to_text(status.error());
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(DeviceCollectives, MatchOrderedCollectives) {
  ThreadDevices devices;
  EXPECT_THAT(on_ranks(devices, sum_like_ordered), testing::Each("ok"));
}

/// Sum that rank 1 does not join.
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
  const auto results = on_ranks(devices, [](Transport& end, Collectives& sums) {
    const auto fail = [&] { end.fail({base::Failure::io, "disk", 3, 0, "the disk is full"}); };
    return sum_without_rank_1(end, sums, fail, deadline_of_sums());
  });
  EXPECT_THAT(results, testing::Each("disk:3: the disk is full"));
}

TEST(DeviceCollectives, ADeadlineEndsASum) {
  ThreadDevices devices;
  const auto results = on_ranks(devices, [](Transport& end, Collectives& sums) {
    return sum_without_rank_1(end, sums, [] {}, Clock::now() + 300ms);
  });
  EXPECT_THAT(results, testing::Each(testing::MatchesRegex(
                           "one of the ranks [01], [12] is lost: rank [02] was summing with them: timed out")));
}

TEST(DeviceCollectives, FailedWorkEndsASum) {
  ThreadDevices devices;
  const auto results = on_ranks(devices, [&](Transport& end, Collectives& sums) {
    return sum_without_rank_1(end, sums, [&] { devices.break_down("a link is down"); }, deadline_of_sums());
  });
  EXPECT_THAT(results, testing::Each(testing::HasSubstr("was summing with them: a link is down")));
}

}  // namespace

}  // namespace dovetail::runtime
