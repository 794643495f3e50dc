#include "runtime/ranks/device_transport.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

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

/// As long as its number says: the first is empty.
std::string text_of_number(std::uint32_t number) {
  return std::string(number % 5, static_cast<char>('a' + number % 7));
}

/// What each rank says, as threads that each have a device.
std::vector<std::string> on_ranks(int ranks, ThreadDevices& devices, const std::function<Status(Transport&)>& work) {
  auto ends = transport::connect_threads(ranks);
  std::vector<std::string> said(ends.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ends.size(); ++r)
    threads.emplace_back([&, r] {
      const auto end = make_device_transport(std::move(ends[r]), devices.of_rank(static_cast<int>(r)), nullptr);
      const Status status = work(*end);
      said[r] = status.ok() ? "ok" : base::to_text(status.error());
    });
  for (std::thread& thread : threads) thread.join();
  return said;
}

std::vector<std::string> on_ranks(int ranks, const std::function<Status(Transport&)>& work) {
  ThreadDevices devices;
  return on_ranks(ranks, devices, work);
}

/// Messages to the next rank of a ring and from the one before, taken in the opposite order; a sum by the host beside
/// them.
Status pass_around(Transport& end) {
  const int next = (end.rank() + 1) % end.ranks();
  const int before = (end.rank() + end.ranks() - 1) % end.ranks();
  std::vector<Channel> channels{{end.rank(), next}, {before, end.rank()}};
  std::sort(channels.begin(), channels.end());
  DOVETAIL_CHECK(end.open(channels, soon()));
  DOVETAIL_CHECK(end.open(channels, soon()));
  constexpr std::uint32_t count = 30;
  std::vector<Buffer> rooms;
  for (std::uint32_t number = 0; number < count; ++number) {
    end.send({next, Lane::programs, number}, text_buffer(text_of_number(number)));
    rooms.push_back(transport::make_buffer(number % 5));
    end.receive({before, Lane::programs, number}, rooms.back());
  }
  DOVETAIL_CHECK(transport::barrier(end, 0, soon()));
  for (std::uint32_t number = count; number-- > 0;) {
    DOVETAIL_CHECK(end.wait({before, Lane::programs, number}, soon()));
    EXPECT_EQ(text_of(rooms[number]), text_of_number(number));
  }
  std::vector<double> values{1, 2, 3};
  std::vector<int> all;
  for (int rank = 0; rank < end.ranks(); ++rank) all.push_back(rank);
  DOVETAIL_CHECK(transport::all_reduce(end, {all, 0}, std::span(values), soon()));
  EXPECT_THAT(values, testing::ElementsAre(end.ranks(), 2 * end.ranks(), 3 * end.ranks()));
  return end.flush(Lane::programs, soon());
}

TEST(DeviceTransport, CarriesProgramsBetweenDevicesAndAllElseByTheHost) {
  EXPECT_THAT(on_ranks(2, pass_around), testing::Each("ok"));
  EXPECT_THAT(on_ranks(5, pass_around), testing::Each("ok"));
}

/// A message that nobody sends.
Status wait_in_vain(Transport& end, Clock::duration limit) {
  if (end.rank() < 2) DOVETAIL_CHECK(end.open({{1, 0}}, soon()));
  if (end.rank() != 0) return transport::barrier(end, 0, soon());
  end.receive({1, Lane::programs, 7}, transport::make_buffer(8));
  return end.wait({1, Lane::programs, 7}, Clock::now() + limit);
}

TEST(DeviceTransport, ADeadlineNamesWhoWaitedForWhat) {
  EXPECT_THAT(
      on_ranks(2, [](Transport& end) { return wait_in_vain(end, 300ms); }),
      testing::Each(testing::MatchesRegex("rank 0 waited 0\\.[3-9] s in vain for message 7 \\(programs\\) of rank 1")));
}

TEST(DeviceTransport, WhatIsNotTakenIsNotDelivered) {
  const auto said = on_ranks(2, [](Transport& end) -> Status {
    DOVETAIL_CHECK(end.open({{0, 1}}, soon()));
    if (end.rank() == 1) return transport::barrier(end, 0, soon());
    end.send({1, Lane::programs, 0}, text_buffer("activation"));
    return end.flush(Lane::programs, Clock::now() + 300ms);
  });
  EXPECT_THAT(said, testing::Each(testing::MatchesRegex(
                        "rank 0 waited 0\\.[3-9] s in vain until rank 1 takes what it was sent \\(programs\\)")));
}

TEST(DeviceTransport, AnErrorElsewhereEndsAWait) {
  ThreadDevices devices;
  const auto said = on_ranks(3, devices, [](Transport& end) {
    if (end.rank() == 2) end.fail({base::Failure::io, "disk", 3, 0, "the disk is full"});
    return wait_in_vain(end, 20s);
  });
  EXPECT_THAT(said, testing::Each("disk:3: the disk is full"));
}

TEST(DeviceTransport, WorkThatBreaksNamesThePeer) {
  ThreadDevices devices;
  const auto said = on_ranks(2, devices, [&](Transport& end) {
    if (end.rank() == 0) return wait_in_vain(end, 20s);
    std::thread breaks([&] {
      std::this_thread::sleep_for(200ms);
      devices.break_down("a link is down");
    });
    Status status = wait_in_vain(end, 20s);
    breaks.join();
    return status;
  });
  EXPECT_THAT(said,
              testing::Each("rank 1 is lost: rank 0 waited for its message 7 (programs) of rank 1: a link is down"));
}

TEST(DeviceTransport, ADeviceThatDoesNotComeIsLost) {
  const auto said = on_ranks(2, [](Transport& end) -> Status {
    if (end.rank() == 0) return end.open({{0, 1}}, Clock::now() + 300ms);
    return transport::barrier(end, 0, soon());
  });
  EXPECT_THAT(said, testing::Each("rank 1 is lost: rank 0 connects with it: a device does not come"));
}

}  // namespace
}  // namespace dovetail::runtime
