#include "transport/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "transport/threads.h"

namespace dovetail::transport {
namespace {

using namespace std::chrono_literals;

Deadline soon() { return Clock::now() + 20s; }

TEST(Collectives, OrderedOnesEqualTheFunctions) {
  const std::vector<int> ranks{0, 1, 2};
  const auto ends = connect_threads(3);
  std::vector<std::vector<double>> sums(3);
  std::vector<std::vector<float>> shares(3);
  std::vector<std::vector<float>> broadcasted(3);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      OrderedCollectives collectives(*ends[r]);
      EXPECT_TRUE(collectives.open({ranks}, soon()).ok());
      sums[r].assign(4, static_cast<double>(r + 1));
      shares[r].assign(3, static_cast<float>(r + 1));
      EXPECT_TRUE(collectives.all_reduce({ranks, 0}, std::span(sums[r]), soon()).ok());
      EXPECT_TRUE(collectives.reduce_scatter({ranks, 1}, std::span(shares[r]), soon()).ok());
      EXPECT_EQ(shares[r][r], 6);
      EXPECT_TRUE(collectives.all_gather({ranks, 2}, std::span(shares[r]), soon()).ok());
      broadcasted[r].assign(2, static_cast<float>(r + 1));
      EXPECT_TRUE(collectives.broadcast(control_group(ranks, 3), 1, std::span(broadcasted[r]), soon()).ok());
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_THAT(sums[r], testing::ElementsAre(6, 6, 6, 6));
    EXPECT_THAT(shares[r], testing::ElementsAre(6, 6, 6));
    EXPECT_THAT(broadcasted[r], testing::ElementsAre(2, 2));
  }
}

TEST(Collectives, ReturnErrorsOfTheTransport) {
  const auto ends = connect_threads(2);
  EXPECT_TRUE(ends[0]->status().ok());
  ends[1]->fail({base::Failure::io, "disk", 3, 0, "the disk is full"});
  for (const auto& end : ends) {
    ASSERT_FALSE(end->status().ok());
    EXPECT_EQ(end->status().error().message, "the disk is full");
  }
}

}  // namespace
}  // namespace dovetail::transport
