#include "transport/threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "transport/collectives.h"

namespace dovetail::transport {
namespace {

using namespace std::chrono_literals;

Deadline soon() { return Clock::now() + 10s; }

/// Runs `work(end)` on a thread for each rank and returns all results.
std::vector<base::Status> run(int ranks, const std::vector<Fault>& faults,
                              const std::function<base::Status(Transport&)>& work) {
  const auto ends = connect_threads(ranks, faults);
  std::vector<base::Status> results(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ends.size(); ++rank)
    threads.emplace_back([&, rank] { results[rank] = work(*ends[rank]); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

Buffer text_buffer(const std::string& text) {
  Buffer buffer = make_buffer(text.size());
  std::memcpy(buffer.data, text.data(), text.size());
  return buffer;
}

std::string text_of(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data), buffer.size}; }

TEST(Threads, DeliversByNumberInAnyOrder) {
  const auto results = run(2, {}, [](Transport& end) -> base::Status {
    const int peer = 1 - end.rank();
    std::vector<Buffer> buffers;
    for (std::uint32_t number = 0; number < 100; ++number)
      end.send({peer, Lane::programs, number}, text_buffer("m" + std::to_string(number % 10)));
    for (std::uint32_t number = 100; number-- > 0;) {
      buffers.push_back(make_buffer(2));
      end.receive({peer, Lane::programs, number}, buffers.back());
    }
    for (std::uint32_t number = 0; number < 100; ++number) {
      DOVETAIL_CHECK(end.wait({peer, Lane::programs, number}, soon()));
      EXPECT_EQ(text_of(buffers[99 - number]), "m" + std::to_string(number % 10));
    }
    return end.flush(Lane::programs, soon());
  });
  for (const base::Status& status : results) EXPECT_TRUE(status.ok());
}

TEST(Threads, BarrierWaitsForAllRanks) {
  std::atomic<int> here = 0;
  const auto results = run(7, {}, [&](Transport& end) -> base::Status {
    for (std::uint32_t round = 0; round < 20; ++round) {
      ++here;
      DOVETAIL_CHECK(barrier(end, 2 * round, soon()));
      EXPECT_EQ(here % 7, 0);
      DOVETAIL_CHECK(barrier(end, 2 * round + 1, soon()));
    }
    return {};
  });
  for (const base::Status& status : results) EXPECT_TRUE(status.ok());
}

/// Returns the error messages of all ranks.
std::vector<std::string> errors_of(const std::vector<base::Status>& results) {
  std::vector<std::string> errors;
  for (const base::Status& status : results) errors.push_back(status.ok() ? "" : status.error().message);
  return errors;
}

base::Status exchange(Transport& end, Deadline deadline) {
  for (std::uint32_t round = 0; round < 10; ++round) DOVETAIL_CHECK(barrier(end, round, deadline));
  return {};
}

TEST(Threads, WaitsForADelayedMessage) {
  const auto begin = Clock::now();
  const auto results =
      run(3, {{Fault::Kind::delay, 1, 4, 100ms}}, [](Transport& end) { return exchange(end, soon()); });
  EXPECT_THAT(errors_of(results), testing::Each(""));
  EXPECT_GE(Clock::now() - begin, 100ms);
}

TEST(Threads, ADroppedMessageEndsAllWaitsAtTheDeadline) {
  const auto results =
      run(3, {{Fault::Kind::drop, 1, 4, {}}}, [](Transport& end) { return exchange(end, Clock::now() + 200ms); });
  // Any rank may time out first, because all of them wait for the message directly or indirectly.
  EXPECT_THAT(errors_of(results), testing::Each(errors_of(results).front()));
  EXPECT_THAT(errors_of(results).front(), testing::HasSubstr("timed out waiting for message"));
}

TEST(Threads, AKilledRankIsReportedToAllAtOnce) {
  const auto begin = Clock::now();
  const auto results = run(5, {{Fault::Kind::kill, 3, 6, {}}}, [](Transport& end) { return exchange(end, soon()); });
  EXPECT_THAT(errors_of(results), testing::Each("rank 3 is lost"));
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_EQ(results[0].error().failure, base::Failure::lost);
}

TEST(Threads, KeepsTheFirstError) {
  const auto results = run(4, {}, [](Transport& end) -> base::Status {
    if (end.rank() == 2) end.fail(base::Error{base::Failure::io, "", 0, 0, "the disk is full"});
    if (end.rank() == 2) end.fail(base::Error{base::Failure::io, "", 0, 0, "later"});
    return exchange(end, soon());
  });
  EXPECT_THAT(errors_of(results), testing::Each("the disk is full"));
}

TEST(Ordered, SumsInOrderOfRanks) {
  for (const std::size_t count : {0U, 1U, 3U, 1000U}) {
    std::vector<std::vector<float>> values(5, std::vector<float>(count));
    std::mt19937 random(1);
    for (auto& own : values)
      for (float& value : own) value = static_cast<float>(random()) / 1e3F - 1e6F;
    std::vector<float> sum(count);
    const std::vector<int> ranks{0, 1, 3, 4};
    for (const int rank : ranks)
      for (std::size_t i = 0; i < count; ++i) sum[i] += values[static_cast<std::size_t>(rank)][i];
    const auto results = run(5, {}, [&](Transport& end) -> base::Status {
      if (end.rank() == 2) return {};
      return all_reduce(end, {ranks, 7}, std::span(values[static_cast<std::size_t>(end.rank())]), soon());
    });
    for (const base::Status& status : results) EXPECT_TRUE(status.ok());
    for (const int rank : ranks) EXPECT_EQ(values[static_cast<std::size_t>(rank)], sum);
  }
}

}  // namespace
}  // namespace dovetail::transport
