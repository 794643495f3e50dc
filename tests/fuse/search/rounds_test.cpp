#include "fuse/search/rounds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <mutex>

#include "support/thread_exchange.h"

namespace dovetail::fuse {
namespace {

using pipeline::OpId;
using pipeline::Order;

Order random_order() {
  Order order;
  order.devices.resize(*rc::gen::inRange<std::size_t>(0, 5));
  for (auto& device : order.devices) {
    device.resize(*rc::gen::inRange<std::size_t>(0, 7));
    for (OpId& op : device) op = OpId(*rc::gen::inRange(0, std::numeric_limits<std::int32_t>::max()));
  }
  return order;
}

RoundReport random_report() {
  RoundReport report;
  report.interrupted = *rc::gen::arbitrary<bool>();
  report.planned = *rc::gen::arbitrary<std::int64_t>();
  report.chains = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1'000'000));
  for (std::size_t i = 0; i < report.chains.size(); ++i)
    report.bests.push_back({*rc::gen::arbitrary<std::int64_t>(), *rc::gen::arbitrary<std::int64_t>(),
                            *rc::gen::arbitrary<std::int64_t>(), random_order()});
  return report;
}

bool are_equal(const RoundReport& a, const RoundReport& b) {
  if (a.interrupted != b.interrupted || a.planned != b.planned) return false;
  if (a.chains != b.chains || a.bests.size() != b.bests.size()) return false;
  for (std::size_t i = 0; i < a.bests.size(); ++i) {
    const ChainBest& x = a.bests[i];
    const ChainBest& y = b.bests[i];
    if (x.makespan != y.makespan || x.peak != y.peak || x.score != y.score || x.order.devices != y.order.devices)
      return false;
  }
  return true;
}

RC_GTEST_PROP(RoundReport, SurvivesEncodingAndDecoding, ()) {
  const RoundReport report = random_report();
  RC_ASSERT(are_equal(report_of(message_of(report)), report));
}

TEST(RoundReportDeathTest, AbortsOnAMessageOfWrongLength) {
  const std::string message = message_of({});
  EXPECT_DEATH((void)report_of(message.substr(1)), "message.size\\(\\) >= sizeof value");
  EXPECT_DEATH((void)report_of(message + "more"), "message.empty\\(\\)");
  EXPECT_DEATH((void)report_of(""), "message.size\\(\\) >= sizeof value");
}

/// The report of rank `rank`: a standing of the chain with that number.
RoundReport report_by(int rank) {
  RoundReport report;
  report.planned = 1'000 + rank;
  report.interrupted = rank == 1;
  report.chains = {rank};
  ChainBest& best = report.bests.emplace_back();
  best.makespan = 10 + rank;
  best.order.devices = {{OpId(rank)}, {}};
  return report;
}

TEST(ExchangeReports, ReturnsOnlyOwnReportWithoutExchange) {
  const auto alone = exchange_reports(nullptr, report_by(3));
  ASSERT_TRUE(alone.ok());
  ASSERT_EQ(alone->size(), 1U);
  EXPECT_TRUE(are_equal((*alone)[0], report_by(3)));

  parallel::Exchange of_one;
  of_one.all_gather = [](std::string_view) -> base::Result<std::vector<std::string>> {
    throw std::logic_error("unexpected exchange");
  };
  const auto one = exchange_reports(&of_one, report_by(2));
  ASSERT_TRUE(one.ok());
  EXPECT_TRUE(are_equal((*one)[0], report_by(2)));
}

TEST(ExchangeReports, EveryRankGetsAllInRankOrder) {
  constexpr int ranks = 4;
  std::mutex mutex;
  int calls = 0;
  test::run_on_ranks(ranks, [&](const parallel::Exchange& exchange) {
    const auto reports = exchange_reports(&exchange, report_by(exchange.rank));
    const std::lock_guard lock(mutex);
    ASSERT_TRUE(reports.ok());
    ASSERT_EQ(reports->size(), static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_TRUE(are_equal((*reports)[static_cast<std::size_t>(rank)], report_by(rank)));
    ++calls;
  });
  EXPECT_EQ(calls, ranks);
}

TEST(ExchangeReports, ALostRankIsAnError) {
  const auto group = test::connect_threads(2, 0.01);
  const auto reports = exchange_reports(&group[0], report_by(0));
  ASSERT_FALSE(reports.ok());
  EXPECT_EQ(reports.error().failure, base::Failure::io);
}

}  // namespace
}  // namespace dovetail::fuse
