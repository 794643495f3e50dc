#include "fuse/search/stop_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "fuse/pareto.h"
#include "fuse/portfolio.h"
#include "fuse/search/search.h"
#include "parallel/cancellation.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/instances.h"
#include "support/thread_exchange.h"

namespace dovetail::fuse {
namespace {

TEST(StopRequest, SingleProcessUsesItsCancellation) {
  parallel::Cancellation cancellation;
  SolveOptions options;
  EXPECT_FALSE(StopRequest(options).poll());
  options.cancellation = &cancellation;
  StopRequest stop(options);
  EXPECT_FALSE(stop.poll());
  cancellation.request();
  EXPECT_FALSE(stop.is_requested());
  EXPECT_TRUE(stop.poll());
  EXPECT_TRUE(stop.is_requested());
  // No other process can have got further.
  EXPECT_TRUE(stop.completes([] {}));
}

TEST(StopRequest, OnlyASingleProcessChecksTheTimeLimit) {
  for (const int ranks : {1, 2}) {
    const auto group = test::connect_threads(ranks);
    SolveOptions options;
    options.time_limit_seconds = 0;
    options.exchange = &group[0];
    EXPECT_EQ(StopRequest(options).is_late(std::chrono::steady_clock::now()), ranks == 1);
  }
}

TEST(StopRequest, OneRequestStopsAll) {
  std::vector<int> stops(3);
  std::vector<int> completed(3);
  test::run_on_ranks(3, [&](const parallel::Exchange& exchange) {
    parallel::Cancellation cancellation;
    SolveOptions options;
    options.exchange = &exchange;
    options.cancellation = &cancellation;
    StopRequest stop(options);
    const auto rank = static_cast<std::size_t>(exchange.rank);
    if (stop.poll()) ++stops[rank];
    if (stop.completes([] {})) ++completed[rank];
    if (stop.completes([&] {
          if (exchange.rank == 1) cancellation.request();
        }))
      ++completed[rank];
    if (stop.is_requested()) ++stops[rank];
    EXPECT_FALSE(stop.lost());
  });
  EXPECT_THAT(stops, testing::Each(1));
  EXPECT_THAT(completed, testing::Each(1));
}

TEST(StopRequest, ALostProcessStopsAll) {
  const auto group = test::connect_threads(2, 0.05);
  SolveOptions options;
  options.exchange = &group[0];
  StopRequest stop(options);
  EXPECT_TRUE(stop.poll());
  ASSERT_TRUE(stop.lost());
  EXPECT_EQ(stop.lost()->failure, base::Failure::io);
}

std::string file_of(const Solution& solution) {
  return pipeline::schedule_to_json(to_schedule(solution, bounds_of(solution.problem)));
}

/// Returns the results of three processes if only one of them receives a stop request, from the start of `solve`.
template <class Solve>
std::vector<std::string> files_where_one_is_stopped(const Solve& solve) {
  std::vector<std::string> files(3);
  test::run_on_ranks(3, [&](const parallel::Exchange& exchange) {
    parallel::Cancellation cancellation;
    if (exchange.rank == 2) cancellation.request();
    SolveOptions options;
    options.chains = 2;
    options.iterations = 1'000'000'000;
    options.exchange = &exchange;
    options.cancellation = &cancellation;
    const Solution solution = solve(options);
    EXPECT_EQ(solution.stopped_by, pipeline::StoppedBy::interrupt);
    EXPECT_FALSE(solution.lost_process);
    files[static_cast<std::size_t>(exchange.rank)] = file_of(solution);
  });
  return files;
}

TEST(StopRequest, OneStoppedProcessLeavesAllWithTheSameResult) {
  const pipeline::Problem& problem = pipeline::find_instance("exp4")->problem;
  const auto portfolio = files_where_one_is_stopped(
      [&](const SolveOptions& options) { return std::get<Solution>(solve_auto(problem, options)); });
  EXPECT_THAT(portfolio, testing::Each(portfolio.front()));
  const auto search = files_where_one_is_stopped(
      [&](const SolveOptions& options) { return std::get<Solution>(solve_search(problem, options)); });
  EXPECT_THAT(search, testing::Each(search.front()));
  const auto front =
      files_where_one_is_stopped([&](const SolveOptions& options) { return solve_pareto(problem, options).front(); });
  EXPECT_THAT(front, testing::Each(front.front()));
}

}  // namespace
}  // namespace dovetail::fuse
