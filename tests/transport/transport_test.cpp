#include "transport/transport.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "transport/threads.h"

namespace dovetail::transport {
namespace {

using namespace std::chrono_literals;

TEST(Exchange, GathersTheStringsOfAllRanks) {
  constexpr int ranks = 4;
  const auto ends = connect_threads(ranks);
  std::vector<std::vector<std::string>> received(ranks);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      for (std::uint32_t number = 0; number < 20; ++number) {
        auto messages = exchange(*ends[rank], 2 * number, std::string(rank * number, static_cast<char>('a' + rank)),
                                 Clock::now() + 10s);
        ASSERT_TRUE(messages.ok()) << messages.error().message;
        received[rank] = std::move(*messages);
        ASSERT_TRUE(barrier(*ends[rank], 2 * number + 1, Clock::now() + 10s).ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> last{"", std::string(19, 'b'), std::string(38, 'c'), std::string(57, 'd')};
  for (const auto& each : received) EXPECT_EQ(each, last);
}

TEST(Exchange, EndsIfARankIsSilent) {
  const auto ends = connect_threads(2);
  const auto messages = exchange(*ends[0], 0, "here", Clock::now() + 20ms);
  ASSERT_FALSE(messages.ok());
  EXPECT_EQ(messages.error().failure, base::Failure::lost);
}

}  // namespace
}  // namespace dovetail::transport
