#include "parallel/shared_chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "parallel/exchange.h"
#include "support/thread_exchange.h"

namespace dovetail::parallel {
namespace {

TEST(Message, RoundTrips) {
  std::string message;
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) put(message, value);
  std::string_view left = message;
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(take(left), value);
  EXPECT_TRUE(left.empty());
}

TEST(SharedChains, WorksOnEachChainOncePerRound) {
  for (const int threads : {1, 3}) {
    SharedChains chains({.chains = 5, .threads = threads});
    EXPECT_EQ(chains.numbers(), (std::vector<int>{0, 1, 2, 3, 4}));
    std::vector<std::atomic<int>> worked(5);
    for (int round = 1; round <= 2; ++round) {
      const auto messages = chains.run([&](std::size_t own) { ++worked[own]; }, [] { return std::string("told"); });
      EXPECT_EQ(messages, (std::vector<std::string>{"told"}));
      for (const auto& count : worked) EXPECT_EQ(count.load(), round);
    }
    EXPECT_FALSE(chains.ended().has_value());
  }
}

TEST(SharedChains, AreDistributedAndExchangeMessages) {
  std::mutex mutex;
  std::vector<int> all;
  test::run_on_ranks(3, [&](const Exchange& exchange) {
    SharedChains chains({.chains = 7, .exchange = &exchange});
    const auto messages = chains.run([](std::size_t) {}, [&] { return std::to_string(chains.numbers().size()); });
    const std::lock_guard lock(mutex);
    EXPECT_EQ(messages, (std::vector<std::string>{"3", "2", "2"}));
    all.insert(all.end(), chains.numbers().begin(), chains.numbers().end());
  });
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(SharedChains, EndOnAllRanksIfOneIsInterruptedOrLate) {
  for (const EndedBy why : {EndedBy::interrupt, EndedBy::time}) {
    test::run_on_ranks(3, [&](const Exchange& exchange) {
      Cancellation cancellation;
      SharingOptions options{.chains = 3, .exchange = &exchange};
      if (exchange.rank == 1 && why == EndedBy::interrupt) cancellation.request();
      if (exchange.rank == 1 && why == EndedBy::time) options.time_limit_seconds = 0;
      options.cancellation = &cancellation;
      SharedChains chains(options);
      int worked = 0;
      chains.run([&](std::size_t) { ++worked; }, [] { return std::string(); });
      EXPECT_EQ(chains.ended(), why);
      EXPECT_EQ(worked, exchange.rank == 1 && why == EndedBy::interrupt ? 0 : 1);
    });
  }
}

TEST(SharedChains, FinishTheRoundAloneIfARankIsLost) {
  const auto group = test::connect_threads(2, 0.01);
  SharedChains chains({.chains = 2, .exchange = &group[0]});
  EXPECT_EQ(chains.run([](std::size_t) {}, [] { return std::string("own"); }), (std::vector<std::string>{"own"}));
  EXPECT_EQ(chains.ended(), EndedBy::interrupt);
  EXPECT_TRUE(chains.lost().has_value());
}

}  // namespace
}  // namespace dovetail::parallel
