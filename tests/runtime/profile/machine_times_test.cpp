#include "runtime/profile/machine_times.h"

#include <gtest/gtest.h>

#include <thread>

#include "transport/threads.h"

namespace dovetail::runtime {
namespace {

using namespace std::chrono_literals;

TEST(MachineTimes, AreOfAMachine) {
  const RankSpeed speed = measure_speed();
  EXPECT_GT(speed.bytes_per_second, 1e7);
  EXPECT_GT(speed.flops_per_second, 1e7);
}

TEST(MachineTimes, OfLinksAreTheSameWorkOnAllRanks) {
  for (const int ranks : {2, 3}) {
    const auto ends = transport::connect_threads(ranks);
    std::vector<std::vector<cost::LinkProfile>> found(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < found.size(); ++rank)
      threads.emplace_back([&, rank] {
        const auto links = measure_links(*ends[rank], 7, 60s);
        EXPECT_TRUE(links.ok()) << links.error().message;
        if (links.ok()) found[rank] = *links;
      });
    for (std::thread& thread : threads) thread.join();
    const std::vector<cost::LinkProfile>& links = found.front();
    ASSERT_EQ(links.size(), 2U);
    EXPECT_EQ(links[0].work, cost::LinkWork::message);
    EXPECT_EQ(links[1].ranks, ranks);
    EXPECT_EQ(links[0].points.size(), links[1].points.size());
    for (const cost::LinkProfile& link : links)
      for (const cost::ProfilePoint& point : link.points) EXPECT_GT(point.seconds, 0);
    EXPECT_TRUE(cost::measured_link({"", {}, links}));
  }
}

TEST(MachineTimes, OfOneRankHaveNoLinks) {
  const auto end = transport::connect_threads(1);
  EXPECT_TRUE(measure_links(*end.front(), 0, 1s)->empty());
}

}  // namespace
}  // namespace dovetail::runtime
