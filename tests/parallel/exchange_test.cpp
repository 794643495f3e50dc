#include "parallel/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "parallel/mpi_module.h"
#include "support/thread_exchange.h"

namespace dovetail::parallel {
namespace {

using testing::HasSubstr;

TEST(ThreadExchange, EveryRankGetsTheMessagesOfAllInOrder) {
  for (const int ranks : {1, 2, 4}) {
    std::vector<std::vector<std::string>> received(static_cast<std::size_t>(ranks));
    test::run_on_ranks(ranks, [&received](const Exchange& exchange) {
      for (int round = 0; round < 50; ++round) {
        const auto messages = exchange.all_gather(std::to_string(100 * round + exchange.rank));
        ASSERT_TRUE(messages.ok());
        auto& own = received[static_cast<std::size_t>(exchange.rank)];
        own.insert(own.end(), messages->begin(), messages->end());
      }
    });
    std::vector<std::string> expected;
    for (int round = 0; round < 50; ++round)
      for (int rank = 0; rank < ranks; ++rank) expected.push_back(std::to_string(100 * round + rank));
    for (const auto& own : received) EXPECT_EQ(own, expected);
  }
}

TEST(ThreadExchange, AMissingRankIsAnErrorForTheOthers) {
  const std::vector<Exchange> group = test::connect_threads(3, 0.05);
  std::thread other([&group] { EXPECT_FALSE(group[1].all_gather("b").ok()); });
  EXPECT_FALSE(group[0].all_gather("a").ok());
  other.join();
  const auto late = group[2].all_gather("c");
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().failure, base::Failure::io);
}

/// Sets DOVETAIL_MODULE_PATH during its lifetime.
class ModulePath {
 public:
  explicit ModulePath(const std::string& folders) { ::setenv("DOVETAIL_MODULE_PATH", folders.c_str(), 1); }
  ~ModulePath() { ::unsetenv("DOVETAIL_MODULE_PATH"); }
  ModulePath(const ModulePath&) = delete;
  ModulePath& operator=(const ModulePath&) = delete;
};

TEST(FindMpiModule, SearchesTheEnvironmentVariableInOrder) {
  const std::string folder = testing::TempDir() + "dovetail module folder";
  ASSERT_EQ(std::system(("mkdir -p '" + folder + "'").c_str()), 0);
  const std::string file = folder + "/" + dovetail_mpi_module_file;
  std::ofstream(file) << "no library";
  const ModulePath path(":/nowhere:" + folder + "::/tmp");
  EXPECT_EQ(find_mpi_module(), file);
  std::remove(file.c_str());
  EXPECT_NE(find_mpi_module(), file);
}

TEST(FindMpiModule, FindsTheModuleOfThisBuild) {
  if (!mpi_module_was_built()) GTEST_SKIP() << "built without MPI";
  const auto file = find_mpi_module();
  ASSERT_TRUE(file.has_value());
  EXPECT_THAT(*file, HasSubstr(dovetail_mpi_module_file));
  EXPECT_TRUE(std::ifstream(*file).good());
}

TEST(ConnectByMpi, AnInvalidTimeoutDoesNotDecideLaterCalls) {
  const std::string folder = testing::TempDir() + "dovetail unusable module";
  ASSERT_EQ(std::system(("mkdir -p '" + folder + "'").c_str()), 0);
  std::ofstream(folder + "/" + dovetail_mpi_module_file) << "no library";
  const ModulePath path(folder);
  EXPECT_THAT(to_text(connect_by_mpi(0).error()), HasSubstr("the timeout for other processes must be above 0"));
  EXPECT_THAT(to_text(connect_by_mpi(1).error()), HasSubstr("cannot be loaded"));
}

}  // namespace
}  // namespace dovetail::parallel
