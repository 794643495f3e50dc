#include "parallel/for_each_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace dovetail::parallel {
namespace {

TEST(ForEachIndex, CallsEachIndexOnceForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8, 100}) {
    std::vector<std::atomic<int>> calls(57);
    for_each_index(57, threads, [&](int index) { ++calls[static_cast<std::size_t>(index)]; });
    for (const auto& count : calls) EXPECT_EQ(count.load(), 1) << threads << " threads";
  }
}

TEST(ForEachIndex, WritesAreVisibleAfterwards) {
  std::vector<long> squares(1000);
  for_each_index(1000, 4,
                 [&](int index) { squares[static_cast<std::size_t>(index)] = static_cast<long>(index) * index; });
  EXPECT_EQ(std::accumulate(squares.begin(), squares.end(), 0L), 332'833'500L);
}

TEST(ForEachIndex, NothingToDoCallsNothing) {
  int calls = 0;
  for_each_index(0, 4, [&](int) { ++calls; });
  EXPECT_EQ(calls, 0);
}

TEST(ForEachIndex, RunsOneThreadOnTheCallingOne) {
  for (const int threads : {0, 1}) {
    std::set<std::thread::id> seen;
    for_each_index(10, threads, [&](int) { seen.insert(std::this_thread::get_id()); });
    EXPECT_EQ(seen, std::set<std::thread::id>{std::this_thread::get_id()});
  }
}

TEST(ForEachIndex, UsesTheRequestedNumberOfThreads) {
  std::atomic<int> inside{0};
  for_each_index(3, 3, [&](int) {
    ++inside;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (inside.load() < 3 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
    EXPECT_EQ(inside.load(), 3) << "the three calls did not overlap";
  });
}

TEST(ForEachIndex, RethrowsAnExceptionAfterAllIndices) {
  std::atomic<int> calls{0};
  EXPECT_THROW(for_each_index(20, 3,
                              [&](int index) {
                                ++calls;
                                if (index == 4) throw std::runtime_error("broken");
                              }),
               std::runtime_error);
  EXPECT_EQ(calls.load(), 20);
}

TEST(DefaultThreadCount, IsAtLeastOneAndAtMostTheMachines) {
  EXPECT_GE(default_thread_count(), 1);
  const unsigned machine = std::thread::hardware_concurrency();
  if (machine > 0) {
    EXPECT_LE(static_cast<unsigned>(default_thread_count()), machine);
  }
}

}  // namespace
}  // namespace dovetail::parallel
